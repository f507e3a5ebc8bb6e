package judge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hear collects statements on the writes, which may still arrive.
func (c *court) hear(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	var coverage struct{ Gaps []span }
	if err := json.Unmarshal([]byte(c.tracked(t)["coverage"]), &coverage); err != nil {
		v.found = append(v.found, "no coverage: "+err.Error())
		return
	}
	v.gaps = coverage.Gaps
	if v.calm && len(v.gaps) > 0 {
		v.found = append(v.found, fmt.Sprintf("gaps are declared: %v", v.gaps))
	}
	c.records(t, v, lives)
	c.events(t, v, lives)
}

func (c *court) records(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	list, err := c.client.Resource(resource("ownership.k8sconnect.io", "v1alpha1", "ownershiprecords")).Namespace(fight).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		v.found = append(v.found, err.Error())
		return
	}
	records := map[string]record{}
	for _, item := range list.Items {
		text, err := json.Marshal(item.Object)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Object.UID != lives[r.Object.Name].uid {
			v.found = append(v.found, "a record of an object that is not there: "+r.Object.Name)
		}
		records[r.Object.Name] = r
	}
	for name, l := range lives {
		v.record(l, records[name])
	}
}

func (c *court) events(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	list, err := c.client.Resource(resource("", "v1", "events")).Namespace(fight).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FieldOwnershipTaken"})
	if err != nil {
		v.found = append(v.found, err.Error())
		return
	}
	reported := map[string]bool{}
	for _, item := range list.Items {
		name, _, _ := unstructured.NestedString(item.Object, "involvedObject", "name")
		text, _, _ := unstructured.NestedString(item.Object, "message")
		reported[name] = true
		v.event(lives[name], text)
	}
	for name, l := range lives {
		if v.calm && !reported[name] && slices.ContainsFunc(l.all(), func(c change) bool { return c.kind == taken }) {
			v.complain(l, "no Event")
		}
	}
}

// audited reads the API server's audit log.
func (c *court) audited(t *testing.T, v *verdicts, lives map[string]life) {
	t.Helper()
	content, err := os.ReadFile(c.audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var event struct {
			ObjectRef        struct{ Name string }
			ResponseStatus   struct{ Code int }
			ImpersonatedUser struct{ Username string }
			Annotations      map[string]string
			ResponseObject   struct {
				Metadata struct {
					ResourceVersion string
					Annotations     map[string]string
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			continue // cut off when the API server was killed
		}
		if event.ResponseStatus.Code/100 != 2 {
			continue
		}
		l := lives[event.ObjectRef.Name]
		stamp := event.ResponseObject.Metadata.Annotations[stampName]
		if r := c.load.receipts[stamp]; r.user != event.ImpersonatedUser.Username {
			v.complain(l, "the write %s of user %s is recorded in the audit log as one of %s", stamp, r.user, event.ImpersonatedUser.Username)
		}
		var entries []audited
		if text := event.Annotations["ownership.k8sconnect.io/taken"]; text != "" {
			if err := json.Unmarshal([]byte(text), &entries); err != nil {
				v.complain(l, "the audit annotation cannot be parsed: %q", text)
			}
		}
		v.audit(l, event.ResponseObject.Metadata.ResourceVersion, entries, len(c.load.receipts[stamp].warnings) > 0)
	}
}

package owners_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

// deleted returns a record of deletions in a namespace, with a line for each: kind, name, the time on 2 January,
// and the version, if any.
func deleted(namespace, more string, lines ...string) string {
	text := "{apiVersion: ownership.k8sconnect.io/v1alpha1, kind: OwnershipRecord, metadata: {name: deletions-1, namespace: " + namespace +
		", labels: {k8sconnect.io/deletions: 'true'}}, object: {apiVersion: v1, kind: Namespace, name: " + namespace + "}" + more + ", deletions: [\n"
	for _, line := range lines {
		word := strings.Fields(line)
		text += "{object: {apiVersion: v1, kind: " + word[0] + ", name: " + word[1] + ", namespace: " + namespace + ", uid: u-" + word[1] + word[2] +
			"}, gone: '2026-01-02T" + word[2] + ":00Z', version: '" + strings.Join(word[3:], "") + "', by: user, user: jane},\n"
	}
	return text + "]}"
}

// A missing object without a recorded deletion says when its deletion would have been recorded, or why that is
// unknown. After a recorded one, only later gaps count.
func TestDeletionsOfMissing(t *testing.T) {
	of := func(more string) string {
		return strings.Replace(tracker, `"to":"2026-01-02T01:00:00Z"}`, `"to":"2026-01-02T01:00:00Z"`+more+`}`, 1)
	}
	all := deleted("prod", ", deletionsDropped: 3, droppedUntil: '2026-01-02T06:00:00Z'", "ConfigMap web 00:30", "ConfigMap other 05:00", "Service web 07:00")
	for name, test := range map[string]struct {
		objects []string
		kind    string
		name    string
		later   time.Duration
		want    string
		err     string
	}{
		"never deleted":                       {kind: "ConfigMap", name: "no", want: "0 since 2026-01-01T00:00:00Z, 1 gaps, 3 dropped"},
		"a gap of other kinds":                {objects: []string{of(`,"of":{"Node":[]}`), all}, kind: "ConfigMap", name: "no", want: "0 since 2026-01-01T00:00:00Z, 0 gaps, 3 dropped"},
		"a gap of the kind's deletions":       {objects: []string{of(`,"of":{"deletions/ConfigMap":[]}`), all}, kind: "ConfigMap", name: "no", want: "0 since 2026-01-01T00:00:00Z, 1 gaps, 3 dropped"},
		"deleted, and a gap ends later":       {kind: "ConfigMap", name: "web", want: "1 since 2026-01-01T00:00:00Z, 1 gaps, 3 dropped"},
		"deleted after the gap":               {objects: []string{tracker, deleted("prod", ", deletionsDropped: 3, droppedUntil: '2026-01-02T06:00:00Z'", "ConfigMap web 08:00")}, kind: "ConfigMap", name: "web", want: "1 since 2026-01-01T00:00:00Z, 0 gaps, 0 dropped"},
		"a kind that is not watched":          {kind: "Secret", name: "no", err: "the webhook does not track Secrets"},
		"others of its kind were deleted":     {objects: []string{tracker, deleted("prod", "", "Secret other 05:00")}, kind: "Secret", name: "no", err: "the webhook does not track Secrets"},
		"never deleted, and the webhook down": {kind: "ConfigMap", name: "no", later: time.Hour, err: "nothing is recorded, and the webhook has recorded no progress"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.objects == nil {
				test.objects = []string{tracker, all}
			}
			got, err := owners.DeletionsOfMissing(t.Context(), fakeReader{objects: test.objects}, ref(test.kind, "prod", test.name), noted().Add(test.later))
			if (err != nil) != (test.err != "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
				t.Fatalf("got the error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			if diff := gocmp.Diff(test.want, describe(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(got.Found, func(d event.Deletion) bool { return d.Ref.Name != test.name || d.Ref.GVK.Kind != test.kind }) {
				t.Errorf("others: %+v", got.Found)
			}
		})
	}
}

func describe(d event.Deletions) string {
	return fmt.Sprintf("%d since %s, %d gaps, %d dropped", len(d.Found), d.Coverage.Since.Format(time.RFC3339), len(d.Coverage.Gaps), d.Dropped)
}

// Recorded times are in whole seconds. Deletions in one second are in the order in which they happened, from any
// record, and those without a version come last.
func TestDeletionsInOneSecond(t *testing.T) {
	one := deleted("prod", "", "ConfigMap a 05:00 9", "ConfigMap c 05:00 11", "ConfigMap e 05:00")
	two := strings.Replace(deleted("prod", "", "ConfigMap d 05:00 10", "ConfigMap b 05:00 101", "ConfigMap f 04:00 999"), "deletions-1", "deletions-2", 1)
	for range 10 { // The records are in a map.
		got, err := owners.Query{Namespace: "prod"}.Deletions(t.Context(), fakeReader{objects: []string{tracker, one, two}}, noted())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range got.Found {
			names = append(names, d.Ref.Name)
		}
		if diff := gocmp.Diff([]string{"b", "c", "d", "a", "e", "f"}, names); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

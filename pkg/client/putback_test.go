package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// If the server has dropped all managed fields, the client sends the previous ones, at the version
// in the server's answer. After a conflict, it sends them again. The error counts as a refusal only
// if the previous fields were restored.
func TestPutBack(t *testing.T) {
	entry := func(manager string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}
	}
	// at returns an object at a version, with the given owners.
	at := func(version string, owners ...string) *http.Response {
		u := clienttest.NewObject(clienttest.ConfigMaps(), "a")
		u.SetUID("u")
		u.SetResourceVersion(version)
		var entries []metav1.ManagedFieldsEntry
		for _, o := range owners {
			entries = append(entries, entry(o))
		}
		u.SetManagedFields(entries)
		return clienttest.Reply(http.StatusOK, u)
	}
	conflict := func() *http.Response { return clienttest.Failure(409, metav1.StatusReasonConflict, nil) }
	for name, tt := range map[string]struct {
		answers []func() *http.Response
		sent    []string // owners for a version
		lost    bool
		fits    bool
		unowned bool // to begin with
	}{
		"no previous fields": {unowned: true, answers: []func() *http.Response{func() *http.Response { return at("2") }}, sent: []string{"team for 1"}},
		"the new fields fit": {answers: []func() *http.Response{func() *http.Response { return at("2", "team") }}, sent: []string{"team for 1"}, fits: true},
		"put back":           {answers: []func() *http.Response{func() *http.Response { return at("2") }, func() *http.Response { return at("3", "flux") }}, sent: []string{"team for 1", "flux for 2"}},
		"concurrent write": {
			answers: []func() *http.Response{func() *http.Response { return at("2") }, conflict, func() *http.Response { return at("3") }, func() *http.Response { return at("4", "flux") }},
			sent:    []string{"team for 1", "flux for 2", "flux for 3"},
		},
		"concurrent apply": {
			answers: []func() *http.Response{func() *http.Response { return at("2") }, conflict, func() *http.Response { return at("3", "before-first-apply") }},
			sent:    []string{"team for 1", "flux for 2"}, lost: true,
		},
		"still too large": {answers: []func() *http.Response{func() *http.Response { return at("2") }, func() *http.Response { return at("3") }}, sent: []string{"team for 1", "flux for 2"}, lost: true},
		"permission revoked": {
			answers: []func() *http.Response{func() *http.Response { return at("2") }, func() *http.Response { return clienttest.Failure(403, metav1.StatusReasonForbidden, nil) }},
			sent:    []string{"team for 1", "flux for 2"}, lost: true,
		},
		"gone": {
			answers: []func() *http.Response{func() *http.Response { return at("2") }, conflict, func() *http.Response {
				return clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a", Kind: "configmaps"})
			}},
			sent: []string{"team for 1", "flux for 2"}, lost: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent []string
				answers := tt.answers
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if !strings.HasSuffix(req.URL.Path, "/a") {
						return clienttest.OK(req), nil
					}
					if req.Method == http.MethodPatch {
						var body []struct{ Value any }
						text, err := io.ReadAll(req.Body)
						if err == nil {
							err = json.Unmarshal(text, &body)
						}
						if err != nil {
							return nil, err
						}
						owner := body[0].Value.([]any)[0].(map[string]any)["manager"].(string)
						sent = append(sent, owner+" for "+body[1].Value.(string))
					}
					next := answers[0]
					answers = answers[1:]
					return next(), nil
				})
				live := clienttest.NewObject(clienttest.ConfigMaps(), "a")
				live.SetResourceVersion("1")
				if !tt.unowned {
					live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("flux")})
				}
				fields := []any{map[string]any{"manager": "team", "operation": "Apply"}}
				_, err := c.PutManagedFields(t.Context(), clienttest.ConfigMaps(), live, fields, object.Write{Manager: "m"})
				tooLarge, is := errors.AsType[*client.TooLargeError](err)
				if is == tt.fits || is && (tooLarge.Lost != nil) != tt.lost || apierrors.IsRequestEntityTooLargeError(err) != (is && !tt.lost) {
					t.Errorf("%v", err)
				}
				if diff := cmp.Diff(tt.sent, sent); diff != "" || len(answers) > 0 {
					t.Errorf("%d answers left: %s", len(answers), diff)
				}
			})
		})
	}
}

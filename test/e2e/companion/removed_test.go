package companion_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// An update that only removes a field leaves no trace in managed fields, but admission sees the manager that
// the client named. Without one, and if it may be either of two owners, the manager is unknown.
func TestRemovalsAreNamed(t *testing.T) {
	jane := newClient(t, "jane")
	jane.namespace(t, "removals")
	web := func(name, env string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + ", namespace: removals}, spec: {replicas: 0, selector: {matchLabels: {app: x}}, " +
			"template: {metadata: {labels: {app: x}}, spec: {containers: [{name: app, image: x, env: [" + env + "]}]}}}}"
	}
	const both, one = "{name: A, value: '1'}, {name: B, value: '1'}", "{name: B, value: '1'}"
	patch := func(name, manager string) {
		_, err := jane.Resource(deployments).Namespace("removals").Patch(t.Context(), name, types.JSONPatchType,
			[]byte(`[{"op": "remove", "path": "/spec/template/spec/containers/0/env/0"}]`), metav1.PatchOptions{FieldManager: manager})
		jane.must(t, err)
	}
	for name, tt := range map[string]struct {
		remove func(name string)
		want   string
	}{
		"set-env": {func(name string) {
			jane.kubectl(t, "set", "env", "deploy/"+name, "A-", "-n", "removals", "--as=jane", "--as-group=system:masters")
		}, "kubectl-set (Update)"},
		"patch": {func(name string) { patch(name, "keel") }, "keel (Update)"},
		"put": {func(name string) { // flux also applies
			u, err := jane.Resource(deployments).Namespace("removals").Get(t.Context(), name, metav1.GetOptions{})
			jane.must(t, err)
			u.Object["spec"].(map[string]any)["template"] = fieldstest.Read(t, web(name, one)).Object["spec"].(map[string]any)["template"]
			_, err = jane.Resource(deployments).Namespace("removals").Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "flux"})
			jane.must(t, err)
		}, ""},
		"apply":   {func(name string) { jane.apply(t, deployments, web(name, one), "flux") }, "flux (Apply)"},
		"unnamed": {func(name string) { patch(name, "") }, ""},
		"twofold": {func(name string) { patch(name, "flux") }, ""}, // flux also applies
	} {
		t.Run(name, func(t *testing.T) {
			jane.apply(t, deployments, web(name, both), "flux")
			rolled := func(revision string) {
				jane.kubectl(t, "wait", "deploy/"+name, "-n", "removals", `--for=jsonpath={.metadata.annotations.deployment\.kubernetes\.io/revision}=`+revision, "--timeout=60s")
			}
			rolled("1")
			for second := time.Now().Unix(); time.Now().Unix() == second; { // Managed fields have whole seconds.
				time.Sleep(20 * time.Millisecond)
			}
			tt.remove(name)
			rolled("2")
			var got shownChange
			eventually(t, "the user is recorded", func() bool {
				message, _ := jane.plugin(t, "history", "deploy/"+name, "-n", "removals", "-o", "json")
				var s shown
				jane.must(t, json.Unmarshal([]byte(message), &s))
				got = s.Objects[0].Revisions[0].Changes[0]
				return got.User != ""
			})
			writer := ""
			if got.Writer != nil {
				writer = got.Writer.Manager + " (" + got.Writer.Operation + ")"
			}
			if writer != tt.want || got.User != "jane" || got.Change != "removed" {
				t.Errorf("%s by %q, user %s; want %q", got.Change, writer, got.User, tt.want)
			}
		})
	}
}

package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A field that is no longer in the manifest is found from our managed fields, even if the manifest
// still sets its parent: "labels: {}" releases every label. Shared fields are kept, and reported as
// kept; fields that only others own are not ours (edge case 33).
func TestFieldsRemovedFromManifest(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(rest string, args ...string) *e2etest.Run {
		set := e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, `+rest+`}`)
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "-f", set, "-o", "json"}, args...)...).Ends(t, 0)
	}
	apply(`labels: {ours: a, both: a}, annotations: {gone: a}}, data: {a: a, b: b}`)
	theirs := e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {both: a, theirs: a}}, data: {b: b, c: c}}`)
	e2etest.Kubectl(t, c, "apply", "--server-side", "--field-manager=them", "-n", ns, "-f", theirs)

	type paths struct {
		Action            string
		Removed, Released []struct {
			Path   string
			Owners []struct{ Manager string }
		}
	}
	var got struct{ Objects []paths }
	r := apply(`labels: {}}, data: {}`)
	if err := json.Unmarshal(r.Stdout.Bytes(), &got); err != nil || len(got.Objects) != 1 {
		t.Fatalf("%v: %s", err, r)
	}
	var message []string
	for _, c := range got.Objects[0].Removed {
		message = append(message, "removed "+c.Path)
	}
	for _, c := range got.Objects[0].Released {
		message = append(message, "released "+c.Path+" to "+c.Owners[0].Manager)
	}
	want := []string{
		"removed .data.a", "removed .metadata.annotations.gone", "removed .metadata.labels.ours",
		"released .data.b to them", "released .metadata.labels.both to them",
	}
	if diff := cmp.Diff(want, message); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, r)
	}
	if left := e2etest.Kubectl(t, c, "get", "configmap/x", "-n", ns, "-o", "jsonpath={.metadata.labels}{.metadata.annotations}{.data}"); left != `{"both":"a","theirs":"a"}{"b":"b","c":"c"}` {
		t.Errorf("the object has: %s", left)
	}
}

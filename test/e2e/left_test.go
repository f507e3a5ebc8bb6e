package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A field that is no longer in the manifest is found from our managed fields, even if the manifest
// still sets its parent: "labels: {}" releases every label. Shared fields are kept, and reported as
// kept; fields that only others own are not ours (edge case 33).
func TestFieldsRemovedFromManifest(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	apply := func(rest string, args ...string) *run {
		set := file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, `+rest+`}`)
		return k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "-f", set, "-o", "json"}, args...)...).ends(t, 0)
	}
	apply(`labels: {ours: a, both: a}, annotations: {gone: a}}, data: {a: a, b: b}`)
	theirs := file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {both: a, theirs: a}}, data: {b: b, c: c}}`)
	kubectl(t, c, "apply", "--server-side", "--field-manager=them", "-n", ns, "-f", theirs)

	type paths struct {
		Action            string
		Removed, Released []struct {
			Path   string
			Owners []struct{ Manager string }
		}
	}
	var got struct{ Objects []paths }
	r := apply(`labels: {}}, data: {}`)
	if err := json.Unmarshal(r.stdout.Bytes(), &got); err != nil || len(got.Objects) != 1 {
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
	if left := kubectl(t, c, "get", "configmap/x", "-n", ns, "-o", "jsonpath={.metadata.labels}{.metadata.annotations}{.data}"); left != `{"both":"a","theirs":"a"}{"b":"b","c":"c"}` {
		t.Errorf("the object has: %s", left)
	}
}

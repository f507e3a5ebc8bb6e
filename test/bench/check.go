package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// references are, by the title of a foreign sample, what the first tool made of
// it: every other tool has to come to the same.
type references map[string]map[lab.Name]string

// written checks that a work wrote as many objects as it should have.
func checkWritten(p *lab.Plot, work string, before, after lab.Versions) error {
	want := 0
	switch work {
	case workDelete, workNamespace:
		if len(after) > 0 {
			return fmt.Errorf("%d of %d objects are still there", len(after), len(before))
		}
		return nil
	case workPrune:
		return pruned(p, before, after)
	case workCreate, workSet, workReady: // for workReady, each status
		want = len(after)
	case workChange:
		want = p.Sample.Changed
	}
	bare, err := bare(p)
	if err != nil {
		return err
	}
	var written []lab.Name
	for name, version := range after {
		if before[name] != version && (!bare[name] || before[name] == "") {
			written = append(written, name)
		}
	}
	if len(written) != want || len(after) < len(before) {
		slices.SortFunc(written, byText)
		return fmt.Errorf("%d of %d objects were written, not %d: %.200s", len(written), len(after), want, fmt.Sprint(written))
	}
	return nil
}

// bare are the objects of which the manifests say nothing but the name. The API server
// writes such an object at its second apply, too: it drops the manager that owns nothing.
func bare(p *lab.Plot) (map[lab.Name]bool, error) {
	if !p.Sample.Foreign {
		return nil, nil // Ours say more.
	}
	objects, err := p.Sample.Objects(p.Version)
	bare := map[lab.Name]bool{}
	for _, u := range objects {
		metadata, _ := u.Object["metadata"].(map[string]any)
		says := len(u.Object) > 3
		for field := range metadata {
			says = says || field != "name" && field != "namespace"
		}
		bare[lab.NameOf(u)] = !says
	}
	return bare, err
}

// pruned checks that what left is gone, and all else as it was.
func pruned(p *lab.Plot, before, after lab.Versions) error {
	for name, version := range after {
		if before[name] != version {
			return fmt.Errorf("%s was written", name)
		}
	}
	if gone := len(before) - len(after); gone != p.Sample.Leaving {
		return fmt.Errorf("%d of %d objects are gone, not %d", gone, len(before), p.Sample.Leaving)
	}
	return nil
}

// content checks that every object exists and is as it should be.
func (r references) content(p *lab.Plot, live lab.Objects) error {
	wanted, err := p.Sample.Objects(p.Version)
	if err != nil {
		return err
	}
	for _, u := range wanted {
		there := live[lab.NameOf(u)]
		if there == nil {
			return fmt.Errorf("%s is not there", lab.NameOf(u))
		}
		if p.Sample.Foreign {
			continue
		}
		if err := within(there.Object, u.Object, lab.NameOf(u).Name); err != nil {
			return err
		}
	}
	if p.Sample.Foreign && !p.Controlled() {
		return r.same(p.Sample.Title, live)
	}
	return nil
}

// within checks that whatever the manifest says is so in the live object.
func within(live, manifest any, path string) error {
	switch manifest := manifest.(type) {
	case map[string]any:
		there, _ := live.(map[string]any)
		for key, value := range manifest {
			if err := within(there[key], value, path+"."+key); err != nil {
				return err
			}
		}
		return nil
	case []any:
		there, _ := live.([]any)
		if len(there) != len(manifest) {
			return fmt.Errorf("%s has %d items, not %d", path, len(there), len(manifest))
		}
		for i, value := range manifest {
			if err := within(there[i], value, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	default:
		if live != manifest {
			return fmt.Errorf("%s is %v, not %v", path, live, manifest)
		}
		return nil
	}
}

// same compares objects with what the first tool made of them.
func (r references) same(title string, live lab.Objects) error {
	now := make(map[lab.Name]string, len(live))
	for name, u := range live {
		text, err := canonical(u)
		if err != nil {
			return err
		}
		now[name] = text
	}
	reference, ok := r[title]
	if !ok {
		r[title] = now
		return nil
	}
	for _, name := range slices.SortedFunc(maps.Keys(reference), byText) {
		if reference[name] != now[name] {
			return fmt.Errorf("%s is not what another tool made of it:\n%s\n%s", name, now[name], reference[name])
		}
	}
	return nil
}

func byText(a, b lab.Name) int { return cmp.Compare(a.String(), b.String()) }

// String returns how the name is shown.

// canonical is an object's content as text, without what differs each time it
// is created, and without the API server's own account of it.
func canonical(u *unstructured.Unstructured) (string, error) {
	u = u.DeepCopy()
	for _, path := range [][]string{
		{"status"},
		{"metadata", "creationTimestamp"},
		{"metadata", "generation"},
		{"metadata", "managedFields"},
		{"metadata", "namespace"},
		{"metadata", "resourceVersion"},
		{"metadata", "uid"},
		{"spec", "clusterIP"},
		{"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	withoutHelmsMarks(u)
	ports, _, _ := unstructured.NestedSlice(u.Object, "spec", "ports")
	for i := range ports {
		if port, ok := ports[i].(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	if ports != nil {
		if err := unstructured.SetNestedSlice(u.Object, ports, "spec", "ports"); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(u.Object)
	return string(text), err
}

// withoutHelmsMarks removes what Helm puts on the objects of a chart, whatever was there.
func withoutHelmsMarks(u *unstructured.Unstructured) {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	delete(labels, "app.kubernetes.io/managed-by")
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "meta.helm.sh/") })
	if len(labels) == 0 {
		labels = nil // or an empty map stays
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
}

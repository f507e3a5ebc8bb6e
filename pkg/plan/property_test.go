package plan_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// randomSet makes a set from bytes. Three bytes make an object: its kind, its name and its
// depends-on reference. There are few names and namespaces, so that objects are related.
func randomSet(data []byte) []object.Manifest {
	kinds := [][2]string{
		{"v1", "Namespace"},
		{"v1", "ConfigMap"},
		{"v1", "Pod"},
		{"v1", "Secret"},
		{"v1", "ServiceAccount"},
		{"apps/v1", "Deployment"},
		{"rbac.authorization.k8s.io/v1", "Role"},
		{"rbac.authorization.k8s.io/v1", "RoleBinding"},
		{"rbac.authorization.k8s.io/v1", "ClusterRole"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
		{"example.com/v1", "Widget"},
		{"x.io/v1", "Thing"},
		{"apiregistration.k8s.io/v1", "APIService"},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
	}
	refs := []string{"", "", "", "/namespaces/prod/ConfigMap/a", "apps/namespaces/prod/Deployment/b", "/Namespace/prod", "x.io/Thing/a", "nonsense"}
	var ms []object.Manifest
	for i := 0; i+2 < len(data); i += 3 {
		kind := kinds[int(data[i])%len(kinds)]
		name := []string{"a", "b", "c", "prod", "v1.x.io"}[int(data[i+1])%5]
		metadata := map[string]any{"name": name}
		if data[i+1]&0x40 != 0 {
			metadata["namespace"] = []string{"prod", "other"}[int(data[i+1]>>7)]
		}
		if ref := refs[int(data[i+2])%len(refs)]; ref != "" {
			metadata["annotations"] = map[string]any{"config.kubernetes.io/depends-on": ref}
		}
		fields := map[string]any{
			"apiVersion": kind[0], "kind": kind[1], "metadata": metadata,
			"type":    "kubernetes.io/service-account-token",
			"roleRef": map[string]any{"kind": "Role", "name": "a"},
			"spec": map[string]any{
				"serviceAccountName": "a", "group": "example.com", "scope": "Namespaced",
				"names":    map[string]any{"kind": "Widget"},
				"versions": []any{map[string]any{"name": "v1", "served": true}},
			},
		}
		if data[i+2]&0x80 != 0 {
			fields["spec"], fields["roleRef"], fields["type"] = "not a mapping", int64(1), nil
		}
		ms = append(ms, object.Manifest{
			Object: &unstructured.Unstructured{Object: fields},
			Source: object.Source{File: "random", Line: i/3 + 1},
		})
	}
	return ms
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte("\x01\x00\x04\x05\x01\x03\x00\x03\x00"))
	f.Add([]byte("\x06\x00\x00\x07\x00\x00\x00\x03\x00\x0b\x00\x00\x0c\x04\x06"))
	kinds := builtIn(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ms := randomSet(data)
		p, err := plan.Build(ms, plan.Options{Kinds: kinds, Namespace: "prod"})
		if err != nil {
			return
		}
		phaseOf, lines := map[object.Key]int{}, map[int]bool{}
		for i, phase := range p.Phases {
			if len(phase.Items) == 0 {
				t.Errorf("phase %s is empty", phase.Name)
			}
			for _, it := range phase.Items {
				if lines[it.Source.Line] {
					t.Errorf("%s is in two phases", it.Source)
				}
				lines[it.Source.Line] = true
				phaseOf[it.Key()] = i
			}
		}
		if len(lines) != len(ms) {
			t.Errorf("%d manifests, %d items", len(ms), len(lines))
		}
		for i, phase := range p.Phases {
			for _, it := range phase.Items {
				for _, need := range it.Needs {
					if at, ok := phaseOf[need]; !ok || at >= i {
						t.Errorf("%s in phase %d needs %v, which is in phase %d (in the set: %v)", it, i, need, at, ok)
					}
				}
			}
		}
	})
}

// Build finds each cycle in random graphs, in which every object has up to two needs.
func FuzzCycles(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0, 0, 0})
	kinds := builtIn(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		n := min(len(data)/2, 200)
		needs := make([][]int, n)
		var ms []object.Manifest
		for i := range n {
			annotation := ""
			for _, b := range data[2*i : 2*i+2] {
				if on := int(b) - 1; on >= 0 && on < n {
					needs[i] = append(needs[i], on)
					annotation += fmt.Sprintf(",/namespaces/default/ConfigMap/c%d", on)
				}
			}
			metadata := map[string]any{"name": fmt.Sprintf("c%d", i)}
			if annotation != "" {
				metadata["annotations"] = map[string]any{"config.kubernetes.io/depends-on": annotation[1:]}
			}
			ms = append(ms, object.Manifest{Object: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
			}}, Source: object.Source{Line: i + 1}})
		}
		_, err := plan.Build(ms, plan.Options{Kinds: kinds})
		if want := hasCircle(needs); want != (err != nil) {
			t.Fatalf("cycle in the graph: %v, error: %v", want, err)
		}
		var cycle *plan.CycleError
		if !errors.As(err, &cycle) {
			return
		}
		for k, m := range cycle.Members {
			next := cycle.Members[(k+1)%len(cycle.Members)].Source.Line - 1
			found := false
			for _, on := range needs[m.Source.Line-1] {
				found = found || on == next
			}
			if !found {
				t.Errorf("%v: c%d does not need c%d", err, m.Source.Line-1, next)
			}
		}
	})
}

// hasCircle removes nodes without needs until no such node is left. If other nodes remain, they
// contain a cycle.
func hasCircle(needs [][]int) bool {
	gone := make([]bool, len(needs))
	for changed := true; changed; {
		changed = false
		for i, on := range needs {
			free := !gone[i]
			for _, o := range on {
				free = free && gone[o]
			}
			if free {
				gone[i], changed = true, true
			}
		}
	}
	for _, g := range gone {
		if !g {
			return true
		}
	}
	return false
}

func BenchmarkBuild10000(b *testing.B) {
	kinds := builtIn(b)
	var ms []object.Manifest
	for i := range 10000 {
		gvk := [][2]string{{"v1", "ConfigMap"}, {"apps/v1", "Deployment"}, {"v1", "Service"}}[i%3]
		ms = append(ms, object.Manifest{Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvk[0], "kind": gvk[1], "metadata": map[string]any{"name": fmt.Sprintf("o%d", i)},
		}}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Build(ms, plan.Options{Kinds: kinds, Namespace: "prod"}); err != nil {
			b.Fatal(err)
		}
	}
}

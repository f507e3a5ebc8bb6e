package property_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
)

// A yielded path keeps its value, for all owners and surroundings (edge case 83).
func TestYield(t *testing.T) {
	yielded, refused, lost := 0, 0, 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		answer, err := h.ask(t, h.manifest, true)
		if err != nil {
			return
		}
		entries, err := managedfields.Entries(answer)
		if err != nil {
			t.Fatal(err)
		}
		declared := fieldpath.NewSet()
		fieldpath.Each(managedfields.Managed(entries, us), func(p fieldpath.Path) {
			for n := 2; n <= len(p); n++ { // including parents
				fieldpath.Insert(declared, p[:n].Clone())
			}
		})
		fieldpath.Each(declared, func(p fieldpath.Path) {
			switch h.yields(t, p.Clone()) {
			case kept:
				yielded++
			case refusedByServer:
				refused++
			case lostByServer:
				lost++
			case notYielded:
			}
		})
	})
	t.Logf("%d paths yielded, %d refused, %d lost by the server", yielded, refused, lost)
	// The server fails on some valid manifests, such as an item that only an owner in another
	// version keeps. That is an error, and writes nothing.
	if refused > yielded/100 || lost > yielded/1000 {
		t.Errorf("%d of %d are refused, %d are lost, want fewer", refused, yielded+refused, lost)
	}
	if yielded < cases {
		t.Errorf("%d paths: too few, the test proves nothing", yielded)
	}
}

// outcome is the result of a yield.
type outcome int

const (
	notYielded outcome = iota
	refusedByServer
	lostByServer
	kept
)

// yields yields a path, and checks the result.
func (h *history) yields(t *testing.T, p fieldpath.Path) outcome {
	body, yielded, err := yield.Paths(h.manifest, h.live, us, []fieldpath.Path{p}, func() openapi.Type { return published.Of(h.Published()) })
	if errors.As(err, new(*yield.KeyError)) {
		return notYielded
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(yielded) == 0 {
		t.Errorf("%s is in the manifest, but could not be yielded", p)
		return notYielded
	}
	answer, err := h.ask(t, body, true)
	if err != nil {
		return refusedByServer
	}
	// A field that does not exist may get a default once its parent exists.
	if was, had := p.Get(h.live.Object); had && !sameAt(p, h.live, answer) {
		// The server does not combine the fields that owners of several versions keep, and empties
		// a parent that would contain only empty values, even if the manifest sets it. The
		// prediction refuses these cases (TestYieldedIsKept).
		if h.severalVersions() || h.losesDeclared(t, body, p, was) {
			return lostByServer
		}
		is, _ := p.Get(answer.Object)
		t.Errorf("%s was %v, but after yielding it is %v\nsent %v", p, was, is, body.Object)
	}
	return kept
}

// losesDeclared reports whether the server drops a value that the manifest sets.
func (h *history) losesDeclared(t *testing.T, body *unstructured.Unstructured, p fieldpath.Path, was any) bool {
	declared := body.DeepCopy()
	fieldpath.Put(declared.Object, p, was)
	if _, is := p.Get(declared.Object); !is {
		return false
	}
	answer, err := h.ask(t, declared, true)
	return err == nil && !sameAt(p, h.live, answer)
}

func sameAt(p fieldpath.Path, a, b *unstructured.Unstructured) bool {
	was, had := p.Get(a.Object)
	is, has := p.Get(b.Object)
	return had == has && reflect.DeepEqual(was, is)
}

// severalVersions reports whether owners have paths in more than one API version.
func (h *history) severalVersions() bool {
	entries := h.live.GetManagedFields()
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.APIVersion != entries[0].APIVersion })
}

// A successful apply changes no yielded path, whatever else it takes, without exceptions (edge case
// 83).
func TestYieldedIsKept(t *testing.T) {
	kept, refused := 0, 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		declared := fieldpath.ManifestPaths(h.manifest.Object)
		if len(declared) == 0 {
			return
		}
		path := declared[h.IntN(len(declared))]
		before := h.get(t)
		p := predict.Predictor{Manager: us, Take: []predict.Choice{{}}, Yield: []predict.Choice{{Path: fieldpath.Pattern(path)}}}
		did, err := applied(t, h.Server, h.manifest, p)
		after := h.get(t)
		if err != nil {
			if refused++; after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the apply was refused, but the object was written: %v", did.Err)
			}
			return
		}
		kept++
		for _, path := range did.Yielded {
			if was, had := path.Get(before.Object); had && !sameAt(path, before, after) {
				is, _ := path.Get(after.Object)
				t.Errorf("%s was %v, but after yielding it is %v", path, was, is)
			}
		}
	})
	t.Logf("%d applied, %d refused", kept, refused)
	if cases >= 300 && kept < cases/2 {
		t.Errorf("%d of %d were applied: too few, the test proves nothing", kept, cases)
	}
}

// The server empties a parent if an apply leaves only empty values in it, including a yielded one,
// even if the manifest sets it: such an apply is refused.
func TestYieldedEmptyList(t *testing.T) {
	server, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	thing := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v2", "kind": "Thing", "metadata": map[string]any{"name": "x", "namespace": "shop"}, "spec": spec,
		}}
	}
	if _, err := applied(t, server, thing(map[string]any{"list": []any{}, "nums": []any{int64(1)}}), predict.Predictor{Manager: us}); err != nil {
		t.Fatal(err)
	}
	p := predict.Predictor{Manager: us, Yield: []predict.Choice{{Path: fieldpath.Pattern{fieldpath.FieldElement("spec"), fieldpath.FieldElement("list")}}}}
	did, err := applied(t, server, thing(map[string]any{"list": []any{map[string]any{"name": "a"}}}), p)
	if _, is := errors.AsType[*predict.YieldError](did.Err); err == nil || !is {
		t.Errorf("apply returned %v, %v, want a YieldError", did.Err, err)
	}
}

// A yielded path that is no longer in the manifest keeps its value, unless its list item is
// removed. Diff predicts that, and the next apply writes nothing.
func TestYieldedPathRemovedFromManifest(t *testing.T) {
	kept, refused := 0, 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		entries, err := managedfields.Entries(h.live)
		if err != nil {
			t.Fatal(err)
		}
		var left []fieldpath.Path
		fieldpath.Each(managedfields.Managed(entries, us), func(p fieldpath.Path) {
			isItem := slices.ContainsFunc(p, func(pe fieldpath.Element) bool { return pe.FieldName == nil })
			if _, there := p.Get(h.live.Object); there && len(p) > 1 && !isItem {
				left = append(left, p.Clone())
			}
		})
		if len(left) == 0 {
			return
		}
		path := left[h.IntN(len(left))]
		manifest := h.manifest.DeepCopy()
		fieldpath.Delete(manifest.Object, path)
		before := h.get(t)
		p := predict.Predictor{Manager: us, Take: []predict.Choice{{}}, Yield: []predict.Choice{{Path: fieldpath.Pattern(path)}}}
		_, differs := compared(t, h.Server, manifest, p)
		did, err := applied(t, h.Server, manifest, p)
		after := h.get(t)
		if err != nil {
			if refused++; after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the apply was refused, but the object was written: %v", did.Err)
			}
			return
		}
		kept++
		if was, had := path.Get(before.Object); had && !sameAt(path, before, after) {
			is, _ := path.Get(after.Object)
			t.Errorf("%s was %v, but after yielding it is %v", path, was, is)
		}
		if wrote := after.GetResourceVersion() != before.GetResourceVersion(); wrote != (differs != nil) {
			t.Errorf("%s: written is %t, but diff returned %v", path, wrote, differs)
		}
	})
	t.Logf("%d applied, %d refused", kept, refused)
	if cases >= 300 && kept < cases/4 {
		t.Errorf("%d of %d were applied: too few, the test proves nothing", kept, cases)
	}
}

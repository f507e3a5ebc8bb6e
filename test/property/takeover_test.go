package property_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

const lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"

// A takeover keeps and removes the same fields as the next kubectl apply would. The object was
// created by a client-side apply. In the same request, admission filled empty maps, added keys and
// replaced defaults, for which the server records no owner (edge case 30). Without the last-applied
// annotation, as with Helm 3, the takeover keeps at least what admission put into empty maps.
//
// The oracle is kubectl's own three-way merge, apart from lists and atomic maps, which a merge patch
// replaces or merges otherwise than a server-side apply.
func TestTakeoverKeepsWhatKubectlKeeps(t *testing.T) {
	server, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	first, cases := number(t, "SEED", 0), number(t, "CASES", histories())
	var filled, removed, failures int
	for n := range cases {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			r, s := newRandom(first+n), server.Empty()
			spec := s.Schema().Properties["spec"]
			before := plain(r.manifest(s.Schema(), "v1")).(map[string]any)
			// If a manifest empties a map or list that has other content, the field manager of the API
			// server stores null or drops the parent, in a takeover or not.
			after := filledOnly(plain(r.edit(s.Schema(), before))).(map[string]any)
			after["metadata"] = before["metadata"]
			manager, annotated := "kubectl-client-side-apply", true
			if r.one(3) {
				manager, annotated = "helm", false
			}
			manifest := &unstructured.Unstructured{Object: after}
			if _, err := server.Empty().Apply(t.Context(), object.Kind{}, manifest, object.Write{Manager: us}); err != nil {
				t.Skip(err)
			}
			created := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(before)}
			if annotated {
				text, err := json.Marshal(before)
				if err != nil {
					t.Fatal(err)
				}
				created.SetAnnotations(map[string]string{lastAppliedKey: string(text)})
			}
			if _, err := s.Update(t.Context(), object.Kind{}, created, object.Write{Manager: manager}); err != nil {
				t.Skip(err) // An item may need a field that the edit removed.
			}
			stored := s.objects[nameOf(created)]
			bare := runtime.DeepCopyJSON(stored.Object)
			if in, ok := stored.Object["spec"].(map[string]any); ok {
				declared, _ := before["spec"].(map[string]any)
				filled += admit(r, &spec, in, declared)
			}
			kubectl := s.Copy()
			want, err := threeWay(before, after, stored.Object)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := kubectl.Update(t.Context(), object.Kind{}, want, object.Write{Manager: manager})
			if err != nil {
				t.Skip(err)
			}
			if after["spec"] == nil {
				// We never own a field of an object whose manifest only names it, so each apply would take over
				// whatever kubectl has set since. So nothing is taken over, unless --adopt-from says so.
				wanted = stored.DeepCopy()
			}
			p := predict.Predictor{
				Manager: us, AdoptFrom: adopt.From{Once: []string{manager}},
				Schema: func(object.Kind) openapi.Type { return published.Of(s.Published()) },
			}
			live := stored.DeepCopy()
			did, err := applied(t, s, manifest, p)
			if err != nil {
				t.Fatalf("%v: %v\nstated %v\nlive   %v\nstates %v\nentries %v", err, did.Err, before["spec"], live.Object["spec"], after["spec"], live.GetManagedFields())
			}
			got := s.objects[nameOf(created)]
			removed += len(did.Removed)
			for _, c := range did.Removed {
				if c.Atomic && isGranular(&spec, c.Path[1:]) {
					t.Errorf("%s is reported as atomic", c.Path)
				}
			}
			var lost []string
			if annotated {
				lost = apart(&spec, ".spec", wanted.Object["spec"], got.Object["spec"])
			} else {
				lost = lostBelowEmpty(&spec, ".spec", bare["spec"], live.Object["spec"], got.Object["spec"], after["spec"])
			}
			if len(lost) > 0 {
				failures++
				t.Errorf("%v\nstated  %v\nlive    %v\nstates  %v\nkubectl %v\ngot     %v", lost,
					before["spec"], live.Object["spec"], after["spec"], wanted.Object["spec"], got.Object["spec"])
			}
		})
		if failures >= 5 {
			t.Fatal("too many failures to read more")
		}
	}
	t.Logf("admission set %d fields, takeovers removed %d", filled, removed)
	if cases >= 300 && (filled < int(cases) || removed < int(cases)/4) {
		t.Error("too few fields: the test proves nothing")
	}
}

// isGranular reports whether the schema of a field of the spec declares a granular map.
func isGranular(s *structuralschema.Structural, path fieldpath.Path) bool {
	for _, pe := range path {
		switch {
		case pe.FieldName != nil:
			s = below(s, *pe.FieldName)
		case s.Items != nil:
			s = s.Items
		}
	}
	return s.XMapType == nil && !s.XPreserveUnknownFields && (len(s.Properties) > 0 || s.AdditionalProperties != nil)
}

// filledOnly removes empty maps and lists.
func filledOnly(v any) any {
	if list, ok := v.([]any); ok {
		for i := range list {
			list[i] = filledOnly(list[i])
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, below := range m {
		if below = filledOnly(below); fieldpath.IsContainer(below) && fieldpath.IsEmpty(below) {
			delete(m, name)
		}
	}
	return m
}

// plain removes nulls, which mean a removal in a merge patch.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range v {
			if below != nil {
				out[name] = plain(below)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, below := range v {
			if below != nil {
				out = append(out, plain(below))
			}
		}
		return out
	default:
		return v
	}
}

// admit changes a stored object like admission that runs after the server has recorded the owners:
// it fills maps, and replaces values that are not in the manifest.
func admit(r random, s *structuralschema.Structural, in, declared map[string]any) int {
	changed := 0
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[name]
		v, has := in[name]
		of, isDeclared := declared[name]
		switch v := v.(type) {
		case map[string]any:
			inner, _ := of.(map[string]any)
			if below.XMapType == nil {
				changed += admit(r, &below, v, inner)
			}
		case string:
			if below.Type == "string" && !isDeclared && r.one(2) {
				in[name] = "admitted"
				changed++
			}
		default:
			if !has && below.Type == "string" && r.one(4) {
				in[name] = "admitted"
				changed++
			}
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural.Type == "string" && r.one(2) {
		in["admitted"] = "x"
		changed++
	}
	return changed
}

// threeWay returns the object that kubectl apply would send for a custom resource.
func threeWay(original, modified, current map[string]any) (*unstructured.Unstructured, error) {
	var texts [3][]byte
	for i, v := range []map[string]any{original, modified, current} {
		var err error
		if texts[i], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	text, err := jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
	if err != nil {
		return nil, err
	}
	var patch map[string]any
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: mergePatch(runtime.DeepCopyJSON(current), patch).(map[string]any)}, nil
}

// mergePatch follows RFC 7396.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := target.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for name, v := range p {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], v)
		}
	}
	return out
}

// apart returns the paths at which two objects differ, outside of lists and atomic maps.
func apart(s *structuralschema.Structural, at string, want, got any) []string {
	a, isMap := want.(map[string]any)
	b, isAlso := got.(map[string]any)
	switch {
	case s.XMapType != nil, isList(want), isList(got):
		return nil
	case len(a) == 0 && len(b) == 0 && (isMap || want == nil) && (isAlso || got == nil):
		return nil // An empty map counts as absent.
	case !isMap || !isAlso:
		if reflect.DeepEqual(numbered(want), numbered(got)) {
			return nil
		}
		return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, apart(below(s, name), at+"."+name, a[name], b[name])...)
	}
	return out
}

func below(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		return s.AdditionalProperties.Structural
	}
	return &structuralschema.Structural{}
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

func numbered(v any) any { return fmt.Sprint(v) }

// lostBelowEmpty returns the paths that are gone although their map was empty before admission. A
// map that was not empty and that the manifest drops goes as a whole.
func lostBelowEmpty(s *structuralschema.Structural, at string, bare, live, got, states any) []string {
	m, ok := live.(map[string]any)
	if !ok || s.XMapType != nil {
		return nil
	}
	of, _ := bare.(map[string]any)
	is, _ := got.(map[string]any)
	next, _ := states.(map[string]any)
	if len(of) > 0 && states == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, isMap := m[name].(map[string]any); isMap {
			out = append(out, lostBelowEmpty(below(s, name), at+"."+name, of[name], m[name], is[name], next[name])...)
			continue
		}
		if m[name] == "admitted" && len(of) == 0 && is[name] == nil {
			out = append(out, at+"."+name+" is gone")
		}
	}
	return out
}

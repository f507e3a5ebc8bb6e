package property_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// us is our field manager.
const us = "k8sconnect"

// history is an object that several managers wrote, and our manifest.
type history struct {
	*Server
	random
	seed  uint64
	steps []string
	last  map[string]map[string]any // each manager's last manifest
	// live is in the manifest's version.
	live, manifest *unstructured.Unstructured
}

// number returns a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// histories is the number of histories for each property, unless CASES is set: fewer among the unit
// tests, where they would take as long as all the others.
func histories() uint64 {
	if testing.Short() {
		return 20
	}
	return circle.Of[uint64](60, 300, 20_000)
}

// eachHistory calls see with random but reproducible histories.
func eachHistory(t *testing.T, see func(t *testing.T, h *history)) (cases int) {
	t.Helper()
	server, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	first, cases := number(t, "SEED", 0), int(number(t, "CASES", histories()))
	failed := 0
	for n := range uint64(cases) {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			h := newHistory(t, server.Empty(), first+n)
			defer func() {
				if t.Failed() {
					failed++
					t.Logf("steps:\n%s", strings.Join(h.steps, "\n"))
				}
			}()
			see(t, h)
		})
		if failed >= 10 {
			t.Fatal("too many failures to read more")
		}
	}
	return cases
}

func newHistory(t *testing.T, server *Server, seed uint64) *history {
	h := &history{Server: server, random: newRandom(seed), seed: seed, last: map[string]map[string]any{}}
	for n := 1 + h.IntN(5); n > 0 || !h.read(t, "v1"); n-- {
		h.step(t)
	}
	manifest := h.last[us]
	switch {
	case manifest == nil && len(h.last) > 0 && !h.one(4):
		manifest = h.last[slices.Sorted(maps.Keys(h.last))[0]] // migrating from another tool
	case manifest == nil:
		manifest = h.fresh()
	}
	if h.one(3) {
		manifest = h.edit(h.Schema(), manifest)
	}
	if h.one(4) {
		manifest = h.respell(manifest).(map[string]any)
	}
	h.manifest = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
	if h.one(3) {
		h.respellKeys(h.manifest.Object["spec"])
	}
	h.say("manifest", h.manifest.Object)
	h.read(t, h.manifest.GroupVersionKind().Version)
	h.say("live", h.live.Object)
	return h
}

// fresh returns a new, independent object.
func (h *history) fresh() map[string]any {
	return h.random.manifest(h.Schema(), pick(h.random, "v1", "v1", "v1", "v2"))
}

// read reads the live object in a version. It returns false if there is none.
func (h *history) read(t *testing.T, version string) bool {
	t.Helper()
	ref := object.Ref{Namespace: "shop", Name: "x"}
	kind, err := h.Kind(t.Context(), gvk(version))
	if err != nil {
		t.Fatal(err)
	}
	ref.GVK = kind.GVK
	live, err := h.Get(t.Context(), kind, ref)
	if apierrors.IsNotFound(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	h.live = live
	return true
}

// step is a change of the object by a random manager. The server may refuse it.
func (h *history) step(t *testing.T) {
	exists := h.read(t, pick(h.random, "v1", "v1", "v1", "v2"))
	var err error
	switch n := h.IntN(12); {
	case exists && n == 0:
		err = h.strip()
	case exists && n == 1:
		status := h.live.DeepCopy()
		status.Object["status"] = h.free(2)
		if _, ok := status.Object["status"].(map[string]any); !ok {
			return
		}
		_, err = h.UpdateStatus(status, object.Write{Manager: "controller"})
		h.say("controller sets the status", status.Object["status"])
	case exists && n < 5:
		next := &unstructured.Unstructured{Object: h.edit(h.Schema(), h.live.Object)}
		who := pick(h.random, "edit", "edit", "helm", us)
		_, err = h.Update(t.Context(), object.Kind{}, next, object.Write{Manager: who})
		h.say(who+" updates", next.Object)
	default:
		h.applies(t)
	}
	if err != nil {
		h.steps = append(h.steps, "  refused: "+err.Error())
	}
}

func (h *history) applies(t *testing.T) {
	who := pick(h.random, us, us, "team-b", "helm")
	next := h.fresh()
	switch {
	case h.last[who] != nil && h.one(2):
		next = h.edit(h.Schema(), h.last[who])
	case h.last[us] != nil && h.one(2):
		next = h.respell(h.edit(h.Schema(), h.last[us])).(map[string]any)
	case h.live != nil && h.one(6): // all that there is
		next = map[string]any{}
		for _, name := range []string{"apiVersion", "kind", "spec"} {
			if v, ok := h.live.Object[name]; ok {
				next[name] = runtime.DeepCopyJSONValue(v)
			}
		}
		next["metadata"] = map[string]any{"name": "x", "namespace": "shop"}
	}
	next = runtime.DeepCopyJSON(next)
	if h.one(2) {
		h.respellKeys(next["spec"])
	}
	u := &unstructured.Unstructured{Object: next}
	_, err := h.Apply(t.Context(), object.Kind{}, u, object.Write{Manager: who, Force: !h.one(3)})
	h.say(who+" applies", next)
	if err != nil {
		h.steps = append(h.steps, "  refused: "+err.Error())
		return
	}
	h.last[who] = next
}

// strip clears the managed fields, removes an entry, or truncates a path in an entry.
func (h *history) strip() error {
	next := h.live.DeepCopy()
	entries := next.GetManagedFields()
	if len(entries) == 0 {
		return nil
	}
	i := h.IntN(len(entries))
	what := "cleared"
	switch h.IntN(3) {
	case 0:
		entries = []metav1.ManagedFieldsEntry{{}}
	case 1:
		what = "without " + entries[i].Manager
		if entries = slices.Delete(entries, i, i+1); len(entries) == 0 {
			entries = []metav1.ManagedFieldsEntry{{}}
		}
	default:
		what = "cut off in " + entries[i].Manager
		var tree map[string]any
		if err := json.Unmarshal(entries[i].FieldsV1.GetRawBytes(), &tree); err != nil {
			return err
		}
		h.cutOff(tree)
		text, err := json.Marshal(tree)
		if err != nil {
			return err
		}
		entries[i].FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	next.SetManagedFields(entries)
	_, err := h.SetEntries(next)
	h.say("managed fields "+what, nil)
	return err
}

// cutOff truncates a path.
func (h *history) cutOff(tree map[string]any) {
	names := slices.Sorted(maps.Keys(tree))
	names = slices.DeleteFunc(names, func(n string) bool {
		below, _ := tree[n].(map[string]any)
		return len(below) == 0
	})
	if len(names) == 0 {
		return
	}
	name := names[h.IntN(len(names))]
	below := tree[name].(map[string]any)
	if name != "f:metadata" && name != "f:spec" && h.one(2) {
		tree[name] = map[string]any{}
		return
	}
	h.cutOff(below)
}

// respell changes the spelling of some values.
func (h *history) respell(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if out[name] = h.respell(v[name]); out[name] == nil && h.one(2) {
				delete(out, name)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = h.respell(v[i])
		}
		return out
	}
	for _, same := range [][]any{{"1", int64(1), "1000m"}, {"1Gi", "1024Mi"}, {"0", int64(0)}, {"500m", 0.5}} {
		if h.one(2) && slices.Contains(same, v) {
			return pick(h.random, same...)
		}
	}
	return v
}

// respellKeys sets the defaulted key fields of list items, and removes those that were set.
func (h *history) respellKeys(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			h.respellKeys(v[name])
		}
	case []any:
		for _, item := range v {
			h.respellKeys(item)
			if m, ok := item.(map[string]any); ok {
				h.respellKey(m)
			}
		}
	}
}

func (h *history) respellKey(item map[string]any) {
	for _, key := range []struct{ name, preset, beside string }{{"protocol", "TCP", "port"}, {"k", "a", "v"}} {
		if _, is := item[key.beside]; !is || h.one(3) {
			continue
		}
		if declared, is := item[key.name]; !is {
			item[key.name] = key.preset
		} else if declared == key.preset {
			delete(item, key.name)
		}
	}
}

func (h *history) say(what string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(err.Error())
	}
	h.steps = append(h.steps, what+" "+string(text))
}

// content is an object without its counters and bookkeeping.
func content(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	meta := maps.Clone(out["metadata"].(map[string]any))
	delete(meta, "managedFields")
	delete(meta, "resourceVersion")
	out["metadata"] = meta
	return out
}

func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

// owned returns the managed fields without times.
func owned(u *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	out := slices.Clone(u.GetManagedFields())
	for i := range out {
		out[i].Time = nil
	}
	slices.SortFunc(out, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return out
}

func sameOwners(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(owned(a), owned(b)) }

// causes returns the conflicting paths in the server's notation.
func causes(err error) []string {
	var status apierrors.APIStatus
	var out []string
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == metav1.CauseTypeFieldManagerConflict {
				out = append(out, c.Field)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutEmpty returns an object without its empty maps.
func withoutEmpty(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := u.DeepCopy()
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for name, below := range v {
				if !walk(below) {
					delete(v, name)
				}
			}
			return len(v) > 0
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
		return true
	}
	walk(out.Object)
	return out
}

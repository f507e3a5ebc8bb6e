package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// With arbitrary objects and managed fields, the functions do not panic, do not modify their
// arguments, and are consistent with each other.
func FuzzObjects(f *testing.F) {
	stories := [][2]string{{fieldstest.WebLive, fieldstest.Web}, {fieldstest.DnsLive, fieldstest.Dns}, {fieldstest.ConfLive, fieldstest.Conf}, {fieldstest.DbLive, fieldstest.Db}, {fieldstest.OldLive, fieldstest.Conf}, {fieldstest.Web, fieldstest.WebLive}}
	for _, s := range stories {
		f.Add(asJSON(f, s[0]), asJSON(f, s[1]), `.spec.replicas`)
	}
	f.Add([]byte(`{"metadata":{"managedFields":[{"manager":"k8sconnect","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:a":{"i:0":{},"v:1":{".":{}},"k:{\"a\":{}}":{"f:b":{}}}}}]},"a":[1,{"a":{}},null]}`), []byte(`{"a":[[]]}`), `.a[=1]`)
	f.Fuzz(func(t *testing.T, liveJSON, manifestJSON []byte, text string) {
		live, manifest := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if yaml.Unmarshal(liveJSON, &live.Object) != nil || yaml.Unmarshal(manifestJSON, &manifest.Object) != nil {
			return
		}
		if live.Object == nil || manifest.Object == nil {
			return
		}
		liveBefore, manifestBefore := live.DeepCopy(), manifest.DeepCopy()
		all, err := managedfields.Entries(live)
		sets := []*fieldpath.Set{fieldpath.NewSet()}
		for _, e := range all {
			sets = append(sets, e.Fields)
			fieldpath.Each(e.Fields, func(p fieldpath.Path) { roundTrip(t, p) })
		}
		for _, held := range sets {
			checkProjections(t, live.Object, manifest.Object, held)
		}
		checkVerdict(t, live, manifest)
		checkChanges(t, live, manifest, text, err == nil)
		if !cmp.Equal(liveBefore.Object, live.Object) || !cmp.Equal(manifestBefore.Object, manifest.Object) {
			t.Fatal("an argument was changed")
		}
	})
}

func asJSON(f *testing.F, text string) []byte {
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		f.Fatal(err)
	}
	return content
}

func roundTrip(t *testing.T, p fieldpath.Path) {
	again, err := fieldpath.ParsePath(p.String())
	if err != nil || !again.Equal(p) {
		t.Fatalf("path %s is read as %s, %v", p, again, err)
	}
}

func checkProjections(t *testing.T, a, b map[string]any, held *fieldpath.Set) {
	cut := managedfields.Project(a, held)
	if diff := cmp.Diff(cut, managedfields.Project(cut, held)); diff != "" {
		t.Fatalf("a second projection differs:\n%s", diff)
	}
	for _, object := range []map[string]any{a, cut} {
		if got := managedfields.Compare(object, object, held); len(got) > 0 {
			t.Fatalf("an object differs from itself: %v", fieldstest.ChangeTexts(got))
		}
	}
	there := managedfields.Compare(cut, managedfields.Project(b, held), held)
	back := managedfields.Compare(managedfields.Project(b, held), cut, held)
	if len(there) != len(back) {
		t.Fatalf("Compare() gives %v in one direction and %v in the other, want as many changes", fieldstest.ChangeTexts(there), fieldstest.ChangeTexts(back))
	}
}

// checkVerdict checks that an unchanged object has no conflicts.
func checkVerdict(t *testing.T, live, manifest *unstructured.Unstructured) {
	verdict, conflicts := noop.Evaluate(live, manifest, fieldstest.Us)
	if (verdict == noop.Unchanged || verdict == noop.Clear) && len(conflicts) > 0 {
		t.Fatalf("%v, with conflicts %v", verdict, fieldstest.ConflictPaths(conflicts))
	}
	if verdict != noop.Unchanged {
		return
	}
	taken, err := predict.Taken(live, live, manifest, fieldstest.Us)
	if err != nil || len(taken) > 0 {
		t.Fatalf("Taken() = %v, %v for an unchanged object, want nothing", fieldstest.ConflictPaths(taken), err)
	}
	dropped, _, err := adopt.Dropped(live, live, fieldstest.Us, adopt.Adoption{})
	if err != nil || len(dropped) > 0 {
		t.Fatalf("Dropped() = %v, %v for an unchanged object, want nothing", fieldstest.ChangeTexts(dropped), err)
	}
}

// checkChanges checks the functions that take two objects and a path.
func checkChanges(t *testing.T, live, manifest *unstructured.Unstructured, text string, readable bool) {
	names := adopt.From{Always: []string{managedfields.ClientSideApply, "kubectl-set"}}
	adoption, err := adopt.Plan(live, fieldstest.Us, names)
	if (err == nil) != readable {
		t.Fatalf("adopt: %v, though entries can be read: %v", err, readable)
	}
	if adoption.Needed() {
		fields, err := adoption.Transfer()
		if err != nil {
			t.Fatal(err)
		}
		moved := live.DeepCopy()
		if err := unstructured.SetNestedSlice(moved.Object, fields, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		again, err := adopt.Plan(moved, fieldstest.Us, names)
		if err != nil || again.Needed() {
			t.Fatalf("there is more to adopt after adoption: %v, %v", again, err)
		}
	}
	_, _ = predict.Taken(live, manifest, manifest, fieldstest.Us)
	_, _, _ = adopt.Dropped(live, manifest, fieldstest.Us, adoption)
	causes := []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: text}}
	predict.ConflictsFromStatus(causes, live, manifest, fieldstest.Us)
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		return
	}
	adopt.Without(live, []fieldpath.Path{p})
	out, _, err := yield.Paths(manifest, live, fieldstest.Us, []fieldpath.Path{p}, nil)
	if err != nil {
		return
	}
	twice, _, err := yield.Paths(out, live, fieldstest.Us, []fieldpath.Path{p}, nil)
	if err != nil || !cmp.Equal(out.Object, twice.Object) {
		t.Fatalf("yielding %s twice differs (-once +twice): %v\n%s", p, err, cmp.Diff(out.Object, twice.Object))
	}
}

package usage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation/usage"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const lastApplied = `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`

// entry parses "MANAGER Apply|Update[/SUBRESOURCE] VERSION SECOND [annotated]".
func entry(t *testing.T, group, text string) metav1.ManagedFieldsEntry {
	t.Helper()
	part := strings.Fields(text)
	operation, subresource, _ := strings.Cut(part[1], "/")
	e := metav1.ManagedFieldsEntry{
		Manager: part[0], Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, APIVersion: group + "/" + part[2],
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{},
	}
	if part[3] != "-" {
		at, err := time.Parse("05", part[3])
		if err != nil {
			t.Fatal(err)
		}
		e.Time = &metav1.Time{Time: at}
	}
	if len(part) > 4 {
		e.FieldsV1 = metav1.NewFieldsV1(lastApplied)
	}
	return e
}

func question() *usage.Question {
	q := &usage.Question{Server: release("1.37"), Release: release("1.38"), Served: func(gvk schema.GroupVersionKind) bool { return gvk.Version != "v1alpha3" }}
	q.Custom.Set(deprecation.Definition{
		Name: "gears.example.com", Kind: schema.GroupKind{Group: "example.com", Kind: "Gear"},
		Versions: []deprecation.DefinedVersion{{Name: "v1beta1", Served: true, Deprecated: true}, {Name: "v1alpha3", Served: true, Deprecated: true}, {Name: "v1", Served: true}},
	})
	return q
}

func release(text string) deprecation.Release {
	r, _ := deprecation.ParseRelease(text)
	return r
}

// A manager is reported if it still writes a version that the release removes. In 1.38, v1beta1 of
// ResourceClaim is removed, and v1beta2 stays.
func TestLive(t *testing.T) {
	const claims, gears = "resource.k8s.io", "example.com"
	for name, test := range map[string]struct {
		group   string
		entries []string
		applied string
		want    []string
		left    int
	}{
		"none":                       {claims, nil, "", nil, 0},
		"new":                        {claims, []string{"a Update v1 01"}, "", nil, 0},
		"deprecated but not removed": {claims, []string{"a Update v1beta2 01"}, "", nil, 0},
		"old":                        {claims, []string{"a Update v1beta1 01"}, "", []string{"a Update v1beta1"}, 0},
		"applied":                    {claims, []string{"a Apply v1beta1 01"}, "", []string{"a Apply v1beta1"}, 0},
		"old then new":               {claims, []string{"a Update v1beta1 01", "a Update v1 02"}, "", nil, 1},
		"old then a version that is removed later": {claims, []string{"a Update v1beta1 01", "a Update v1beta2 02"}, "", nil, 1},
		"new then old":                        {claims, []string{"a Update v1 01", "a Update v1beta1 02"}, "", []string{"a Update v1beta1"}, 0},
		"both in one second":                  {claims, []string{"a Update v1 01", "a Update v1beta1 01"}, "", []string{"a Update v1beta1"}, 0},
		"two managers":                        {claims, []string{"a Update v1beta1 01", "b Update v1 02"}, "", []string{"a Update v1beta1"}, 0},
		"two managers, both old":              {claims, []string{"a Update v1beta1 01", "b Apply v1beta1 02"}, "", []string{"a Update v1beta1", "b Apply v1beta1"}, 0},
		"updates old, applies new":            {claims, []string{"a Update v1beta1 01", "a Apply v1 02"}, "", []string{"a Update v1beta1"}, 0},
		"status old, the rest new":            {claims, []string{"a Update/status v1beta1 01", "a Update v1 02"}, "", []string{"a Update/status v1beta1"}, 0},
		"without a time":                      {claims, []string{"a Update v1beta1 -"}, "", []string{"a Update v1beta1"}, 0},
		"entry from before the first apply":   {claims, []string{"before-first-apply Update v1beta1 01", "a Apply v1 02"}, "", nil, 1},
		"not served any more":                 {claims, []string{"a Update v1alpha3 01"}, "", nil, 1},
		"client-side":                         {claims, []string{"kubectl-client-side-apply Update v1beta1 01 *"}, "v1beta1", []string{"kubectl-client-side-apply Update v1beta1"}, 0},
		"client-side, old then new at once":   {claims, []string{"kubectl-client-side-apply Update v1beta1 01", "kubectl-client-side-apply Update v1 01 *"}, "v1", nil, 1},
		"client-side, new then old at once":   {claims, []string{"kubectl-client-side-apply Update v1 01", "kubectl-client-side-apply Update v1beta1 01 *"}, "v1beta1", []string{"kubectl-client-side-apply Update v1beta1"}, 0},
		"client-side, managed fields cleared": {claims, nil, "v1beta1", []string{"kubectl-client-side-apply Update v1beta1"}, 0},
		"client-side, entry rewritten":        {claims, []string{"kubectl-client-side-apply Update v1 01 *"}, "v1beta1", []string{"kubectl-client-side-apply Update v1beta1"}, 0},
		"restored with the annotation":        {claims, []string{"velero Update v1 01 *"}, "v1beta1", nil, 0},
		"custom, old":                         {gears, []string{"a Update v1beta1 01"}, "", []string{"a Update v1beta1"}, 0},
		"custom, old then new":                {gears, []string{"a Update v1beta1 01", "a Update v1 02"}, "", nil, 1},
		"custom, two old versions":            {gears, []string{"a Update v1beta1 02", "a Update v1alpha3 01"}, "", []string{"a Update v1beta1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kind := map[string]string{claims: "ResourceClaim", gears: "Gear"}[test.group]
			ref := object.Ref{GVK: schema.GroupVersionKind{Group: test.group, Version: "v1", Kind: kind}, Namespace: "shop", Name: "x"}
			var entries []metav1.ManagedFieldsEntry
			for _, text := range test.entries {
				entries = append(entries, entry(t, test.group, text))
			}
			annotation := ""
			if test.applied != "" {
				annotation = fmt.Sprintf(`{"apiVersion":"%s/%s","kind":%q}`, test.group, test.applied, kind)
			}
			q := question()
			tally, part := usage.New(q), usage.New(q)
			part.Live(ref, entries, annotation)
			tally.Merge(part)
			found := tally.Result()
			var got []string
			for _, u := range found.Uses {
				for _, w := range u.Writers {
					how := w.Operation
					if w.Subresource != "" {
						how += "/" + w.Subresource
					}
					got = append(got, w.Manager+" "+how+" "+u.Ref.GVK.Version)
				}
				if u.Goes != (test.group == claims) {
					t.Errorf("goes: %v", u.Goes)
				}
			}
			if !slices.Equal(got, test.want) || found.Left != test.left {
				t.Errorf("%q and %d left, want %q and %d", got, found.Left, test.want, test.left)
			}
			if (found.Hint != "") != (test.left > 0) {
				t.Errorf("hint %q", found.Hint)
			}
		})
	}
}

// The uses of one object are combined, wherever they were found; removed versions come first.
func TestManifest(t *testing.T) {
	tally := usage.New(question())
	at := object.Source{File: "shop/web.yaml", Line: 9}
	claim := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": map[string]any{"name": "x", "namespace": "shop"},
	}}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
		"spec": map[string]any{
			"volumes":      []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "rbd": map[string]any{}}},
			"nodeSelector": map[string]any{"beta.kubernetes.io/os": "linux"},
		},
	}}
	steps := map[string]string{}
	locate := func(s object.Source, path []any) (object.Source, string) {
		steps[fmt.Sprint(path)] = "asked"
		s.Line++
		return s, ""
	}
	tally.Manifest(object.RefOf(pod), object.Manifest{Object: pod, Source: object.Source{File: "p.yaml", Line: 1}}, locate)
	tally.Manifest(object.RefOf(claim), object.Manifest{Object: claim, Source: at}, locate)
	tally.Rendered(object.RefOf(claim), claim, event.HelmRevision{Namespace: "shop", Name: "web", Revision: 7})
	tally.Live(object.Ref{GVK: schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}, Namespace: "shop", Name: "x"},
		[]metav1.ManagedFieldsEntry{entry(t, "resource.k8s.io", "a Update v1beta1 01")}, "")
	found := tally.Result()
	var got []string
	for _, u := range found.Uses {
		got = append(got, fmt.Sprintf("%s %v %s: %d writers, %v, %v", u.Ref, u.Goes, u.Text, len(u.Writers), u.Sources, u.Releases))
	}
	want := []string{
		`pod/p true .spec.volumes[name="b"].rbd is deprecated since 1.28, non-functional since 1.31; use a CSI driver: 0 writers, [p.yaml:2], []`,
		`resourceclaim.resource.k8s.io/x -n shop true resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1: 1 writers, [shop/web.yaml:10], [{shop web 7}]`,
		`pod/p false .spec.nodeSelector["beta.kubernetes.io/os"] is deprecated since 1.14; use kubernetes.io/os: 0 writers, [p.yaml:2], []`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, path := range []string{"[apiVersion]", "[spec volumes 1 rbd]", "[spec nodeSelector beta.kubernetes.io/os]"} {
		if steps[path] == "" {
			t.Errorf("locate was not called for %s: got %v", path, steps)
		}
	}
}

func TestConcerns(t *testing.T) {
	q := question()
	for kind, want := range map[string]bool{
		"resource.k8s.io/v1/ResourceClaim": true, "example.com/v1/Gear": true, "batch/v1/CronJob": true, "/v1/Endpoints": false, "apps/v1/Other": false,
	} {
		part := strings.Split(kind, "/")
		if got := q.Concerns(object.Kind{GVK: schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}, Resource: strings.ToLower(part[2]) + "s"}); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	q.Served = func(gvk schema.GroupVersionKind) bool { return gvk.Version == "v1" }
	if q.Concerns(object.Kind{GVK: schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}}) {
		t.Error("Concerns() = true for a version that is not served")
	}
}

func TestStored(t *testing.T) {
	d := deprecation.Definition{Name: "gears.example.com", Versions: []deprecation.DefinedVersion{
		{Name: "v1alpha1", Stored: true},
		{Name: "v1beta1", Served: true, Deprecated: true, Stored: true},
		{Name: "v1beta2", Served: true, Stored: true},
		{Name: "v1", Served: true, Storage: true, Stored: true},
	}}
	if s, any := (&usage.Question{}).Stored(d); !any || !slices.Equal(s.Versions, []string{"v1alpha1", "v1beta1"}) || s.Storage != "v1" {
		t.Errorf("%+v", s)
	}
	for served, want := range map[string]string{
		"storagemigration.k8s.io/v1":       `"apiVersion":"storagemigration.k8s.io/v1",`,
		"storagemigration.k8s.io/v1beta1":  `"apiVersion":"storagemigration.k8s.io/v1beta1",`,
		"storagemigration.k8s.io/v1alpha1": " -A -o json | ", // Its objects have another format.
	} {
		q := &usage.Question{Served: func(gvk schema.GroupVersionKind) bool { return gvk.GroupVersion().String() == served }}
		if s, _ := q.Stored(d); len(s.Next) != 3 || !strings.Contains(s.Next[0], want) {
			t.Errorf("with %s: %q", served, s.Next)
		}
	}
	d.Versions = d.Versions[3:]
	if s, any := (&usage.Question{}).Stored(d); any {
		t.Errorf("%+v", s)
	}
}

package survey

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Without a TYPE, all kinds are counted except Events, in both of their groups. A kind with the
// same name in another group is counted.
func TestAllKinds(t *testing.T) {
	kind := func(group, kind string, namespaced bool) object.Kind {
		return object.Kind{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespaced: namespaced}
	}
	kinds := []object.Kind{
		kind("", "ConfigMap", true), kind("", "Event", true), kind("events.k8s.io", "Event", true),
		kind("calendar.example", "Event", true), kind("", "Namespace", false),
	}
	for _, tt := range []struct {
		sel  object.Selection
		want []string
	}{
		{object.Selection{}, []string{"ConfigMap", "Event.calendar.example", "Namespace"}},
		{object.Selection{Namespace: "shop", Labels: "a=b"}, []string{"ConfigMap", "Event.calendar.example"}},
	} {
		var got []string
		for _, p := range AllKinds(kinds, tt.sel) {
			if p.Selection != tt.sel || p.wanted != nil || p.err != nil {
				t.Errorf("%+v", p)
			}
			got = append(got, p.Kind.GVK.GroupKind().String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.sel, diff)
		}
	}
}

// A kind that is deleted while the whole cluster is counted has no objects. It is an error if the
// user named the kind.
func TestKindDeletedWhileCounted(t *testing.T) {
	gone := &client.NoKindError{GVK: schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Box"}}
	because := &client.NoKindError{GVK: gone.GVK, Err: errors.New("its API server does not answer")}
	found := AllKinds([]object.Kind{{GVK: gone.GVK, Namespaced: true}}, object.Selection{})[0]
	for name, tt := range map[string]struct {
		place Place
		err   error
		want  bool
	}{
		"gone":                        {found, gone, true},
		"gone, but named by the user": {Place{Kind: found.Kind}, gone, false},
		"not answered":                {found, because, false},
		"not stored":                  {found, &client.NoKindError{GVK: gone.GVK, Unkept: true}, false},
		"unavailable":                 {found, apierrors.NewServiceUnavailable("later"), false},
	} {
		if got := tt.place.hasGone(tt.err); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

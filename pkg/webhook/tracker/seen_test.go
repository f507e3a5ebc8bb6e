package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Notes survive encoding and decoding, whatever characters the paths contain. A change that two
// replicas noted results in one note, with the user if one of the replicas knows the user.
func TestNotes(t *testing.T) {
	path := func(text string) fieldpath.Path {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	o := unrecorded{ownership.Occurrence{
		Object: ownership.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "1"},
		Transition: ownership.Transition{
			Path: path(`.spec.template.spec.containers[name="a\"b.c"].ports[containerPort=80,protocol="TCP"]`), Kind: ownership.Taken, Forced: true,
			Values: ownership.ValueChange{From: "3", To: "5"},
			Before: []managedfields.Owner{{Manager: "argo", Operation: "Apply", APIVersion: "apps/v1"}},
			After:  []managedfields.Owner{{Manager: "hpa", Operation: "Update", Subresource: "scale", APIVersion: "apps/v1"}},
		},
		Occasion: ownership.Occasion{ResourceVersion: "7", Time: noon, User: "alice", Noted: true},
	}, noon.Add(-time.Minute)}
	unnamed, later, other := o, o, o
	unnamed.User, unnamed.Kind, unnamed.Forced = "", ownership.Lost, false
	later.ResourceVersion = "9"
	other.Object.UID, other.Path = "2", path(`.metadata.annotations["a.b/c"]`)
	content, err := encodeSeen([]unrecorded{unnamed, other, later, o})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSeen(content)
	if err != nil {
		t.Fatal(err)
	}
	same := []cmp.Option{cmp.AllowUnexported(unrecorded{}), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b fieldpath.Path) bool { return a.Equal(b) })}
	if diff := cmp.Diff([]unrecorded{o, later, other}, got, same...); diff != "" {
		t.Error(diff)
	}
	if _, err := decodeSeen([]byte("garbage")); err == nil {
		t.Error("decodeSeen() accepted garbage, want an error")
	}
}

// A replica notes each user only once.
func TestUserIsNotedOnce(t *testing.T) {
	s := begin(position{})
	s.list(9, fields("a", 5, "argo"), fields("b", 6, "argo"))
	s.admit("a", 5, "flux", "alice")
	s.change("a", 10, "flux")
	s.change("b", 11, "flux")
	s.wait(grace)
	if noted := s.unnoted(); len(noted) != 1 || noted[0].User != "alice" {
		t.Errorf("told %+v", noted)
	}
	if again := s.unnoted(); len(again) > 0 {
		t.Errorf("noted again: %+v, want nothing", again)
	}
}

package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Decide lists the members and decides which of them to prune. It keeps a namespace or CRD that
// contains other owners' objects, and a volume whose claim is kept, because the volume's deletion
// would wait for the claim.
func (s *Set) Decide(ctx context.Context, of applyset.Set) (applyset.Decision, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return applyset.Decision{}, err
	}
	d := applyset.Decide(of, members)
	for _, m := range d.Holders() {
		by, err := s.claimed(ctx, m)
		switch {
		case by != "":
			d = d.Keep(m, applyset.Holds, by)
		case err != nil:
			d = d.Keep(m, applyset.Unseen, err.Error())
		}
	}
	for _, m := range slices.Clone(d.Doomed) {
		if m.Ref.GVK.Group != "" || m.Ref.GVK.Kind != "PersistentVolume" {
			continue
		}
		claim, err := s.claimOf(ctx, m)
		goes := func(other applyset.Member) bool { return other.Ref.Key() == claim }
		switch {
		case err != nil:
			d = d.Keep(m, applyset.Unseen, err.Error())
		case claim.Name != "" && !slices.ContainsFunc(d.Doomed, goes):
			d = d.Keep(m, applyset.Holds, claim.Ref().String())
		}
	}
	return d, nil
}

// claimOf returns the claim of a volume; zero if there is none.
func (s *Set) claimOf(ctx context.Context, volume applyset.Member) (object.Key, error) {
	live, err := s.Server.Get(ctx, volume.Kind, volume.Ref)
	if apierrors.IsNotFound(err) {
		return object.Key{}, nil
	}
	if err != nil {
		return object.Key{}, err
	}
	if phase, _, _ := unstructured.NestedString(live.Object, "status", "phase"); phase != "Bound" {
		return object.Key{}, nil
	}
	claim := object.Key{Kind: "PersistentVolumeClaim"}
	claim.Namespace, _, _ = unstructured.NestedString(live.Object, "spec", "claimRef", "namespace")
	claim.Name, _, _ = unstructured.NestedString(live.Object, "spec", "claimRef", "name")
	return claim, nil
}

// claimed returns another owner's object that would be deleted with a member; empty if there is
// none.
func (s *Set) claimed(ctx context.Context, m applyset.Member) (string, error) {
	live, err := s.Server.Get(ctx, m.Kind, m.Ref)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var (
		mu    sync.Mutex
		first object.Ref
		by    string
	)
	err = s.Server.Contents(ctx, live, func(u *unstructured.Unstructured) {
		whose := applyset.Owned(u, s.ID())
		if whose == "" || u.GetDeletionTimestamp() != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ref := object.RefOf(u); by == "" || ref.Compare(first) < 0 {
			first, by = ref, fmt.Sprintf("%s of %s", ref, whose)
		}
	})
	return by, err
}

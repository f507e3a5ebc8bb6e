package setrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Newest returns the newest run that the set has recorded, with the plans that its runs have
// confirmed. It is zero if the set has none, or if the account is not allowed to read it. A set whose parent
// was deleted still has its record.
func (r *Run) Newest(ctx context.Context) (history.Run, error) {
	parent := r.set.Record.Parent
	if !r.set.Exists && !r.recalled || parent.Namespace == "" {
		return history.Run{}, nil
	}
	return newestOf(ctx, r.Server, parent)
}

func newestOf(ctx context.Context, server store.Server, parent object.Ref) (history.Run, error) {
	keeper := Keeper{Server: server, Parent: parent}
	kept, err := keeper.Known(ctx)
	if err != nil && !apierrors.IsForbidden(err) {
		return history.Run{}, err
	}
	kept.Last, err = LastRun(ctx, server, parent)
	if fault, unread := errors.AsType[*history.FaultError](err); unread {
		kept.Faults = append(kept.Faults, fault)
	} else if err != nil && !apierrors.IsForbidden(err) {
		return history.Run{}, err
	}
	newest, _ := kept.Newest()
	return newest, nil
}

// Anew adds to what a digest covers how many times the set has used the same plan. So a plan that is
// reviewed again gets another digest, and no digest can be used twice.
func Anew(covers []string, newest history.Run, digest func(covers ...string) string) []string {
	if len(newest.Place.Plans) == 0 {
		return covers // A digest of values of Secrets takes time.
	}
	for n := 0; ; n++ {
		now := Used(covers, n)
		if former, recorded := newest.Place.Plan(digest(now...)); !recorded || !former.IsUsed(newest) {
			return now
		}
	}
}

// InputOf returns the digest that the history records of the input.
func InputOf(p *plan.Plan) string {
	var manifests []*unstructured.Unstructured
	for item := range p.Items() {
		manifests = append(manifests, item.Object)
	}
	digest, err := history.Digest(manifests)
	if err != nil {
		return ""
	}
	return digest
}

// Used returns what the digest covers of a plan that the set has used n times.
func Used(covers []string, n int) []string {
	if n == 0 {
		return covers
	}
	return append(slices.Clone(covers), fmt.Sprintf("used %d", n))
}

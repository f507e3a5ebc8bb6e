package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Explain adds advice to a refusal where we can find out more than the server says. It
// classifies by the causes, never by the text.
func (p Predictor) Explain(ctx context.Context, server Server, in *Prediction, err error) error {
	if misfit := p.misfit(in, err); misfit != nil {
		err = misfit
	}
	if p.lenient() && unexplained(err) {
		return &RefusedError{Err: err, Advice: "--validate does not cover everything: a field that the schema does not declare " +
			"is refused by server-side apply itself"}
	}
	if in.Live == nil || !apierrors.IsInvalid(err) {
		return err
	}
	causes := Causes(err)
	advice := p.leftBehind(in, causes)
	if advice == "" {
		advice = p.unstated(ctx, server, in, causes)
	}
	if advice == "" {
		advice = p.immutable(ctx, server, in, causes)
	}
	if advice == "" {
		return err
	}
	return &RefusedError{Err: err, Advice: advice}
}

// lenient reports whether the user lets unknown fields pass.
func (p Predictor) lenient() bool { return p.Validation == "Warn" || p.Validation == "Ignore" }

// ExplainConflict explains why taking every conflict would not help; it returns nil if the
// server would accept that.
func (p Predictor) ExplainConflict(ctx context.Context, server Server, in *Prediction, conflict *ConflictError) error {
	if conflict.Refusal == nil {
		return nil
	}
	return fmt.Errorf("if all of it were taken, the server would refuse it: %w", p.Explain(ctx, server, in, conflict.Refusal))
}

// leftBehind explains a list that is invalid because of an item that the manifest does not
// state: the item, or part of it, stays as long as others own it (k/k#131147,
// structured-merge-diff#335; edge cases 25 and 26).
func (p Predictor) leftBehind(in *Prediction, causes []metav1.StatusCause) string {
	list, names := p.leftBehindBy(in, causes)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("an item of %s that the manifest does not state is also owned by %s, and what they own of it stays; "+
		"%s makes it yours, or remove the item by hand",
		list, strings.Join(names, ", "), p.toOwn(in, []fieldpath.Path{list}, names))
}

// leftBehindBy returns the list in which an item is left behind, and who owns that item.
func (p Predictor) leftBehindBy(in *Prediction, causes []metav1.StatusCause) (fieldpath.Path, []string) {
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return nil, nil
	}
	for _, cause := range causes {
		list, _, indexed := strings.Cut(cause.Field, "[")
		if !indexed || cause.Type != metav1.CauseTypeFieldValueDuplicate && cause.Type != metav1.CauseTypeFieldValueRequired {
			continue
		}
		path, err := fieldpath.ParsePath(list)
		if err != nil {
			continue
		}
		var names []string
		for _, owner := range OwnersOfUnstated(managedfields.Others(entries, p.Manager), path, in.Body) {
			names = append(names, owner.Manager)
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			return path, names
		}
	}
	return nil, nil
}

// OwnersOfUnstated returns, sorted, the owners that hold anything of a list item that the
// manifest does not state.
func OwnersOfUnstated(entries []managedfields.Entry, list fieldpath.Path, manifest *unstructured.Unstructured) []managedfields.Owner {
	var owners []managedfields.Owner
	for _, e := range entries {
		found := false
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			if found || len(p) <= len(list) || p[len(list)].FieldName != nil || !p.HasPrefix(list) {
				return
			}
			_, stated := p[:len(list)+1].Get(manifest.Object)
			found = !stated
		})
		if found {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, managedfields.Owner.Compare)
	return owners
}

package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// UnremovableError is the server's refusal of an object without values that others have added, such as an
// immutable field of a Job.
type UnremovableError struct {
	Ref object.Ref
	// Additions are the values that cannot be removed, sorted by path.
	Additions []exclusive.Addition
	Err       error
}

func (e *UnremovableError) Error() string {
	named := make([]string, len(e.Additions))
	for i, a := range e.Additions {
		named[i] = a.Path.String()
		var managers []string
		for _, o := range a.Owners {
			if !slices.Contains(managers, o.Manager) {
				managers = append(managers, o.Manager)
			}
		}
		if len(managers) > 0 {
			named[i] += " (added by " + strings.Join(managers, ", ") + ")"
		}
	}
	return fmt.Sprintf("the server refuses to remove %s: %s", strings.Join(named, ", "), e.Err)
}

func (e *UnremovableError) Unwrap() error { return e.Err }

// Hint returns the flags that leave the additions to their owners.
func (e *UnremovableError) Hint() string {
	flags := make([]string, len(e.Additions))
	for i, a := range e.Additions {
		flags[i] = "--yield=" + text.ShellQuote(e.Ref.Resource()+":"+a.Path.String())
	}
	out := "leave it to its owner: " + strings.Join(flags, " ") + ", or for every run, a rule under yield in k8sconnect.yaml"
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](e.Err); ok && hinted.Hint() != "" {
		out += "\n" + hinted.Hint()
	}
	return out
}

// unremovable finds the surplus that the server refuses to remove from an answer. It removes the surplus step
// by step, because some values can only be removed after others, such as a volume after its mount. It returns
// the refusal of the whole if the server refuses no step.
func (p Predictor) unremovable(ctx context.Context, server Server, in *Prediction, answer *unstructured.Unstructured, refusal error) error {
	isRefusal := func(err error) bool {
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
	}
	if !isRefusal(refusal) || len(in.Surplus) == 0 || !in.Adoption.OnlyRemoves() {
		return refusal
	}
	if _, err := server.Update(ctx, in.Item.Kind, answer.DeepCopy(), p.probe()); err != nil {
		return refusal // The surplus is not the cause.
	}
	kept := slices.Clone(in.Surplus)
	var gone []fieldpath.Path
	for before := -1; before != len(kept); {
		before = len(kept)
		kept = slices.DeleteFunc(kept, func(a exclusive.Addition) bool {
			without := adopt.WithoutSurplus(answer, append(slices.Clone(gone), a.Path), in.Body)
			if without == nil {
				return true
			}
			restoreAlias(in.Body, without)
			_, err := server.Update(ctx, in.Item.Kind, without, p.probe())
			if err == nil {
				gone = append(gone, a.Path)
				return true
			}
			if isRefusal(err) {
				refusal = err
			}
			return false
		})
	}
	if ctx.Err() != nil || len(kept) == 0 {
		return refusal
	}
	return &UnremovableError{Ref: in.Item.Ref, Additions: kept, Err: refusal}
}

// withNodePorts adds the node ports of a Service that needs none without the surplus. If the type changes, the
// server removes the node ports by itself, but only if all of them are unchanged.
// https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/registry/core/service/strategy.go (dropTypeDependentFields)
func withNodePorts(in *Prediction, found []exclusive.Addition, created *unstructured.Unstructured) []exclusive.Addition {
	kind := in.Item.GVK.GroupKind()
	at := slices.IndexFunc(found, func(a exclusive.Addition) bool { return a.Path.Equal(fieldpath.Field("spec", "type")) })
	if kind.Group != "" || kind.Kind != "Service" || at < 0 || created == nil {
		return found
	}
	if kind, _, _ := unstructured.NestedString(created.Object, "spec", "type"); kind == "NodePort" || kind == "LoadBalancer" {
		return found
	}
	ports, _, _ := unstructured.NestedSlice(in.Live.Object, "spec", "ports")
	for _, port := range ports {
		m, _ := port.(map[string]any)
		path, err := fieldpath.ParsePath(fmt.Sprintf(".spec.ports[port=%v,protocol=%q].nodePort", m["port"], m["protocol"]))
		if err != nil || m["nodePort"] == nil {
			continue
		}
		_, declared := path.Get(in.Body.Object)
		if declared || slices.ContainsFunc(found, func(a exclusive.Addition) bool { return path.HasPrefix(a.Path) }) {
			continue
		}
		found = append(found, exclusive.Addition{Path: path, Value: m["nodePort"], Owners: found[at].Owners})
	}
	return found
}

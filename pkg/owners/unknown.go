package owners

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// UnknownError says why it is not known whether anything was taken.
type UnknownError struct {
	Reason string
	hint   string
}

func (e *UnknownError) Error() string { return e.Reason }

// Hint says what to do about it.
func (e *UnknownError) Hint() string { return e.hint }

// newOmission returns an error that says which rule of the webhook leaves an object out.
func newOmission(why ownership.Omission, kind schema.GroupKind, namespace, own string) error {
	never := build.Page("webhook.md#what-it-is-asked")
	permissions := build.Page("webhook.md#permissions")
	switch why {
	case ownership.OmissionNever:
		return &UnknownError{"the webhook never tracks the kind " + kind.String(), "see " + never}
	case ownership.OmissionKind:
		if kind == (schema.GroupKind{Kind: "Secret"}) {
			return &UnknownError{
				"the webhook does not track Secrets (its chart's value tracking.secrets)",
				"what tracking.secrets=true grants is in " + permissions,
			}
		}
		return &UnknownError{"the webhook leaves out the kind " + kind.String() + " (its chart's value exclude.kinds)", ""}
	case ownership.OmissionNamespace:
		switch {
		case namespace == own:
			return &UnknownError{"the webhook never tracks its own namespace, " + namespace, "see " + never}
		case slices.Contains([]string{"kube-system", "kube-node-lease"}, namespace):
			return &UnknownError{"the webhook never tracks the namespace " + namespace, "see " + never}
		}
		return &UnknownError{"the webhook leaves out the namespace " + namespace + " (its chart's value exclude.namespaces)", ""}
	case ownership.OmissionRefused:
		return &UnknownError{
			"the webhook may not list and watch the kind " + kind.String(),
			"permit it by the chart's value tracking.customGroups, or by a ClusterRole: " + permissions,
		}
	default:
		return &UnknownError{"the webhook does not track the kind " + kind.String() + ": it cannot be watched, or is new", ""}
	}
}

// unvouched says why an empty record does not mean that none of the fields asked for was taken; nil
// if it does.
func unvouched(c event.Coverage, owned event.Owned) error {
	switch {
	case onlyStatus(owned):
		return &UnknownError{"the webhook does not record what is written by way of the subresource status", ""}
	case c.Stale:
		return &UnknownError{
			"nothing is recorded, and the webhook has noted nothing down since " + c.Until.UTC().Format(time.RFC3339) + "; does it run?", "",
		}
	}
	return nil
}

// onlyStatus reports whether everything that was asked for lies in the status and is owned
// only through the subresource, which is not tracked.
func onlyStatus(owned event.Owned) bool {
	asked := slices.Concat(owned.Fields, owned.Absent)
	if len(asked) == 0 {
		return false
	}
	only := true
	status := fieldpath.Field("status")
	managedfields.Walk(asked, func(n managedfields.Node) {
		if len(n.Below) == 0 && !n.Path.HasPrefix(status) {
			only = false
		}
		for _, o := range n.Owners {
			only = only && cmp.Or(o.Subresource, "-") == "status"
		}
	})
	return only
}

package review

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Outcome is the outcome of a run for one object. Two outcomes are equal if they encode to the same
// text.
type Outcome struct {
	Ref    object.Ref   `json:"-"`
	Action event.Action `json:"action"`
	// Departed means that the object left its set and will be deleted. Only Ref, Action and UID are
	// also set.
	Departed bool `json:"departed,omitempty"`
	// UID is the UID of an existing object. Another object of the same name needs another review.
	UID types.UID `json:"uid,omitempty"`
	// Unchecked means that the server could not be asked, so After is the manifest.
	Unchecked bool                   `json:"unchecked,omitempty"`
	Changes   []Change               `json:"changes,omitempty"`
	Adopted   []string               `json:"adopted,omitempty"`
	Sharing   *managedfields.Sharing `json:"sharing,omitempty"`
	Ownership []event.OwnerChange    `json:"ownership,omitempty"`
	// After has the fields of an object that is created. In a document, only its digest is known.
	After map[string]any `json:"-"`
	// Secret means that the outcome contains values of Secrets.
	Secret bool `json:"-"`
	// content and digest are the digests of After and of the outcome, with masked values. They are
	// set if the outcome comes from Plan.Outcomes or from a document.
	content, digest string
	// version is the sealed version of the live object (see values.seal). It comes from a document.
	version string
	// partly means that the document masks more values than the digest does. doubtful means that it masks
	// less, or that it was edited.
	partly, doubtful bool
}

// Change is a change to the value at one path.
type Change struct {
	Path   string                   `json:"path"`
	Kind   managedfields.ChangeKind `json:"kind"`
	From   any                      `json:"from,omitempty"`
	To     any                      `json:"to,omitempty"`
	Owners []string                 `json:"owners,omitempty"`
	Atomic bool                     `json:"atomic,omitempty"`
	Same   bool                     `json:"sameValue,omitempty"`
	// By lists the owners. The times of their writes are not part of the outcome.
	By []managedfields.Owner `json:"-"`
}

// OutcomeOf returns the outcome of a comparison.
func OutcomeOf(c event.Compared) Outcome {
	out := Outcome{Ref: c.Ref, Action: c.Action, Departed: c.Departed, UID: c.UID}
	if c.Departed {
		return out
	}
	out.Unchecked = c.Reason != "" && (c.Action == event.Create || c.Action == event.Update)
	out.Adopted, out.Sharing, out.Ownership = slices.Sorted(slices.Values(c.Adopted)), c.Sharing, sortedOwnership(c.Ownership)
	for _, change := range c.Changes {
		out.Changes = append(out.Changes, Change{
			Path: change.Path.String(), Kind: change.Kind, From: change.From, To: change.To, Owners: namesOf(change.Owners),
			Atomic: change.Atomic, Same: change.SameValue, By: change.Owners,
		})
	}
	sortChanges(out.Changes)
	if out.Unchecked || c.Action == event.Create || c.Action == event.Recreate {
		out.After = c.After
	}
	return out
}

func sortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(asText(a), asText(b)) })
}

// sortedOwnership returns the changes in an order that does not depend on the order in a document,
// without what is not a part of the outcome.
func sortedOwnership(changes []event.OwnerChange) []event.OwnerChange {
	var out []event.OwnerChange
	for _, c := range changes {
		sorted := event.OwnerChange{Becomes: c.Becomes, Paths: slices.Sorted(slices.Values(c.Paths))}
		for _, o := range c.Owners {
			sorted.Owners = append(sorted.Owners, managedfields.Owner{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource})
		}
		slices.SortFunc(sorted.Owners, managedfields.Owner.Compare)
		out = append(out, sorted)
	}
	slices.SortFunc(out, func(a, b event.OwnerChange) int { return strings.Compare(asText(a), asText(b)) })
	return out
}

// ownersAt returns how the owners of each path change, in words for each owner.
func (o Outcome) ownersAt() map[string][]string {
	out := map[string][]string{}
	for _, c := range o.Ownership {
		words := []string{string(c.Becomes)}
		if names := namesOf(c.Owners); len(names) > 0 {
			words = nil
			for _, name := range names {
				words = append(words, string(c.Becomes)+map[event.Becoming]string{
					event.BecomesShared: " with ", event.BecomesTaken: " from ", event.BecomesReleased: " to ", event.BecomesLost: " by ",
				}[c.Becomes]+name)
			}
		}
		for _, path := range c.Paths {
			out[path] = append(out[path], words...)
		}
	}
	return out
}

func namesOf(owners []managedfields.Owner) []string {
	var out []string
	for _, o := range owners {
		out = append(out, strings.TrimSuffix(o.Manager+" "+o.Operation+" "+o.Subresource, " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// text encodes an outcome with its object, including the content of a new object.
func (o Outcome) text() string { return o.head() + o.contentText() }

func (o Outcome) contentText() string {
	if o.After == nil {
		return ""
	}
	return asText(o.After)
}

// head is the part of an outcome that a document shows. For a departing object, it omits the API
// version, because the server chooses it.
func (o Outcome) head() string {
	apiVersion := o.Ref.GVK.GroupVersion().String()
	if o.Departed {
		apiVersion = o.Ref.GVK.Group
	}
	return asText([]any{apiVersion, o.Ref.GVK.Kind, o.Ref.Namespace, o.Ref.Name, o})
}

// asText encodes a value as JSON, with sorted keys and the same text for 1 and 1.0.
func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

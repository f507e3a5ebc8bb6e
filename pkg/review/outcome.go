package review

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Outcome is the outcome of a run for one object. Two outcomes are equal if they encode to the same
// text.
type Outcome struct {
	Ref    object.Ref   `json:"-"`
	Action event.Action `json:"action"`
	// Departed means that the object left its set and will be deleted. Only Ref and Action are also
	// set.
	Departed bool `json:"departed,omitempty"`
	// Unchecked means that the server could not be asked, so After is the manifest.
	Unchecked bool                   `json:"unchecked,omitempty"`
	Changes   []Change               `json:"changes,omitempty"`
	After     map[string]any         `json:"after,omitempty"`
	Adopted   []string               `json:"adopted,omitempty"`
	Sharing   *managedfields.Sharing `json:"sharing,omitempty"`
	// Secret means that the outcome contains values of Secrets.
	Secret bool `json:"-"`
	// digest is set if the outcome was read from a document, whose values are masked.
	digest string
}

// Change is a change to the value at one path.
type Change struct {
	Path   string                   `json:"path"`
	Kind   managedfields.ChangeKind `json:"kind"`
	From   any                      `json:"from,omitempty"`
	To     any                      `json:"to,omitempty"`
	Owners []string                 `json:"owners,omitempty"`
	// By lists the owners. The times of their writes are not part of the outcome.
	By []managedfields.Owner `json:"-"`
}

// OutcomeOf returns the outcome of a comparison.
func OutcomeOf(c event.Compared) Outcome {
	out := Outcome{Ref: c.Ref, Action: c.Action, Departed: c.Departed}
	if c.Departed {
		return out
	}
	out.Unchecked = c.Reason != "" && (c.Action == event.Create || c.Action == event.Update)
	out.Adopted, out.Sharing = slices.Sorted(slices.Values(c.Adopted)), c.Sharing
	for _, change := range c.Changes {
		out.Changes = append(out.Changes, Change{
			Path: change.Path.String(), Kind: change.Kind, From: change.From, To: change.To, Owners: namesOf(change.Owners), By: change.Owners,
		})
	}
	slices.SortFunc(out.Changes, func(a, b Change) int { return strings.Compare(asText(a), asText(b)) })
	if out.Unchecked || c.Action == event.Create || c.Action == event.Recreate {
		out.After = c.After
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

// text encodes an outcome with its object. For a departing object, it omits the API version,
// because the server chooses it.
func (o Outcome) text() string {
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

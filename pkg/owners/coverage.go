package owners

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The webhook keeps what it has watched in a ConfigMap of its own namespace.
const (
	trackerLabels = "k8sconnect.io/tracker=true"
	coverageKey   = "coverage"
	checkpointKey = "checkpoint"
	scopeKey      = "scope"
)

// stale is the age of the webhook's last note beyond which the webhook counts as not
// running. It writes one every minute, however little happens.
const stale = 3 * time.Minute

// note is a webhook's record of what it watches.
type note struct {
	namespace string // the webhook's own
	scope     ownership.Scope
	coverage  event.Coverage
}

// notes are the notes of all webhooks in the cluster, or the reason why they are not
// known.
type notes struct {
	all []note
	err error
}

// readNotes reads the notes of webhooks. Not all users may read their namespaces.
func readNotes(ctx context.Context, reader Reader) notes {
	var out notes
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	err := reader.Select(ctx, configMaps, object.Selection{Labels: trackerLabels}, "", func(u *unstructured.Unstructured) {
		switch n, noted, err := parseNote(u); {
		case err != nil:
			out.err = &UnknownError{Reason: "what the webhook noted down in " + object.RefOf(u).String() + " cannot be read: " + err.Error()}
		case noted:
			out.all = append(out.all, n)
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		out.err = &UnknownError{
			Reason: "no permission to list the configmaps of all namespaces, in one of which the webhook notes down what it watches",
		}
	case err != nil:
		out.err = &UnknownError{Reason: err.Error()}
	case len(out.all) == 0 && out.err == nil:
		out.err = &UnknownError{Reason: "the webhook has not noted down what it watches; does it run?"}
	}
	return out
}

// of returns when the webhook watched objects of a kind in a namespace, or why that is not
// known. If there are several webhooks, the one that has watched for longest counts.
func (n notes) of(kind schema.GroupKind, namespace string, now time.Time) (event.Coverage, error) {
	if len(n.all) == 0 {
		return event.Coverage{}, n.err
	}
	var best event.Coverage
	var omitted error
	for _, noted := range n.all {
		since, why := noted.scope.Of(kind, namespace)
		if why != ownership.OmissionNone {
			omitted = cmp.Or(omitted, newOmission(why, kind, namespace, noted.namespace))
			continue
		}
		c := noted.coverage.From(since)
		if best.Since.IsZero() || c.Since.Before(best.Since) {
			best = c
		}
	}
	if best.Since.IsZero() {
		return event.Coverage{}, omitted
	}
	best.Stale = !best.Until.IsZero() && now.Sub(best.Until) > stale
	return best, nil
}

// parseNote reads the note in a ConfigMap. Noted is false for a copy that a backup tool
// brought from another cluster: it says nothing about this one.
func parseNote(u *unstructured.Unstructured) (n note, noted bool, err error) {
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	if data[coverageKey] == "" {
		return n, false, nil
	}
	n.namespace = u.GetNamespace()
	if n.coverage, err = parseCoverage(data[coverageKey]); err != nil {
		return n, false, err
	}
	var checkpoint struct {
		Of        string    `json:"of"`
		Heard     time.Time `json:"heard"`
		Resources map[string]struct {
			Time time.Time `json:"time"`
		} `json:"resources"`
	}
	for key, into := range map[string]any{checkpointKey: &checkpoint, scopeKey: &n.scope} {
		if data[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data[key]), into); err != nil {
			return n, false, err
		}
	}
	if checkpoint.Of != "" && checkpoint.Of != string(u.GetUID()) {
		return n, false, nil
	}
	n.coverage.Until = checkpoint.Heard
	for _, mark := range checkpoint.Resources { // An older webhook notes nothing beyond these.
		if mark.Time.After(n.coverage.Until) {
			n.coverage.Until = mark.Time
		}
	}
	return n, true, nil
}

func parseCoverage(text string) (event.Coverage, error) {
	var noted struct {
		Since time.Time `json:"since"`
		Gaps  []struct {
			From time.Time `json:"from"`
			To   time.Time `json:"to"`
		} `json:"gaps"`
		Behind struct {
			Changes int       `json:"changes"`
			Since   time.Time `json:"since"`
		} `json:"behind"`
	}
	if err := json.Unmarshal([]byte(text), &noted); err != nil {
		return event.Coverage{}, err
	}
	out := event.Coverage{Since: noted.Since, Behind: noted.Behind.Changes, BehindSince: noted.Behind.Since}
	for _, gap := range noted.Gaps {
		out.Gaps = append(out.Gaps, event.Gap{From: gap.From, To: cmp.Or(gap.To, gap.From)})
	}
	return out, nil
}

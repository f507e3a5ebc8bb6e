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
)

// The webhook keeps what it has watched in a ConfigMap of its own namespace.
const (
	trackerLabels = "k8sconnect.io/tracker=true"
	coverageKey   = "coverage"
	checkpointKey = "checkpoint"
)

// coverageOf reads when the webhook watched, or why that is not known: not
// everybody may look into its namespace.
func coverageOf(ctx context.Context, reader Reader) event.Coverage {
	var texts []string
	var until time.Time
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	err := reader.Select(ctx, configMaps, object.Selection{Labels: trackerLabels}, "", func(u *unstructured.Unstructured) {
		text, _, _ := unstructured.NestedString(u.Object, "data", coverageKey)
		if text != "" {
			texts = append(texts, text)
			checkpoint, _, _ := unstructured.NestedString(u.Object, "data", checkpointKey)
			if at := notedAt(checkpoint); at.After(until) {
				until = at
			}
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		return event.Coverage{Unknown: "no permission to list the configmaps of all namespaces"}
	case err != nil:
		return event.Coverage{Unknown: err.Error()}
	case len(texts) == 0:
		return event.Coverage{Unknown: "the webhook has not noted it down; does it run?"}
	}
	var out event.Coverage
	for _, text := range texts {
		read, err := parseCoverage(text)
		if err != nil {
			return event.Coverage{Unknown: "what the webhook noted down can not be read: " + err.Error()}
		}
		if out.Since.IsZero() || read.Since.Before(out.Since) {
			out = read
		}
	}
	out.Until = until
	return out
}

// notedAt returns when a checkpoint was the present, zero where it does not say.
func notedAt(checkpoint string) time.Time {
	var noted struct {
		Resources map[string]struct {
			Time time.Time `json:"time"`
		} `json:"resources"`
	}
	var last time.Time
	if err := json.Unmarshal([]byte(checkpoint), &noted); err != nil {
		return last
	}
	for _, mark := range noted.Resources {
		if mark.Time.After(last) {
			last = mark.Time
		}
	}
	return last
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

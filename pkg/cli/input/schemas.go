package input

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// readSchemas returns what reads the schemas of kinds. Where they are is asked beside the
// objects if the plan is likely to need one: asked after them, it would cost a round trip.
// done has to be called in the end.
func readSchemas(ctx context.Context, client *cluster.Client, p *plan.Plan) (of func(object.Kind) openapi.Type, done func()) {
	if !asksTypes(p) {
		return published.ByKind(client.SchemaOnce(ctx)), func() {}
	}
	schemas, done := client.SchemaAhead(ctx)
	return published.ByKind(schemas), done
}

// asksTypes reports whether the plan has several phases, and an object that states a list
// of maps outside of its metadata. In the items of such lists the server sets defaults and
// writes quantities in its own way, and whether that is a change is a question of types.
func asksTypes(p *plan.Plan) bool {
	if len(p.Phases) < 2 {
		return false // Few objects, and what they ask is asked soon.
	}
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if item.Object == nil {
				continue // It is packed, as those of large sets are, to which a round trip is nothing.
			}
			for name, v := range item.Object.Object {
				if name != "metadata" && hasListOfMaps(v) {
					return true
				}
			}
		}
	}
	return false
}

func hasListOfMaps(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			if hasListOfMaps(below) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if _, ok := item.(map[string]any); ok {
				return true
			}
		}
	}
	return false
}

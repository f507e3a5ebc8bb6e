package input

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// readSchemas returns what reads the schemas of kinds. Where they are is asked beside the
// objects if the plan is likely to need one: asked after them, it would cost a round trip. So
// are those of custom kinds, which are on no disk after their definitions changed. done has
// to be called in the end.
func readSchemas(ctx context.Context, client *cluster.Client, p *plan.Plan) (of func(object.Kind) openapi.Type, done func()) {
	asked := askTypes(p)
	if len(asked) == 0 {
		return published.ByKind(client.SchemaOnce(ctx)), func() {}
	}
	custom := slices.DeleteFunc(asked, func(gv schema.GroupVersion) bool { return object.IsBuiltIn(gv.Group) })
	schemas, done := client.SchemaAhead(ctx, custom)
	return published.ByKind(schemas), done
}

// askTypes returns the versions of the objects that state a list of maps outside of their
// metadata, if the plan has several phases. In the items of such lists the server sets
// defaults and writes quantities in its own way, and whether that is a change is a question
// of types.
func askTypes(p *plan.Plan) []schema.GroupVersion {
	if len(p.Phases) < 2 {
		return nil // Few objects, and what they ask is asked soon.
	}
	asked := sets.New[schema.GroupVersion]()
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if item.Object == nil || asked.Has(item.GVK.GroupVersion()) {
				continue // It is packed, as those of large sets are, to which a round trip is nothing.
			}
			for name, v := range item.Object.Object {
				if name != "metadata" && hasListOfMaps(v) {
					asked.Insert(item.GVK.GroupVersion())
				}
			}
		}
	}
	return asked.UnsortedList()
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

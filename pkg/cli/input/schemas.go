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

// schemas read the schemas of kinds.
type schemas struct {
	of func(object.Kind) openapi.Type
	// expect is told which will probably be asked for; nil if they are read when they are.
	expect func([]schema.GroupVersion)
	// close ends what was asked; nil if nothing has to be ended.
	close func()
}

func (s schemas) end() {
	if s.close != nil {
		s.close()
	}
}

// schemasAhead asks where the schemas are at once, for a run that will probably need one:
// asked after the objects, it would cost a round trip.
func schemasAhead(ctx context.Context, client *cluster.Client) schemas {
	of, expect, stop := client.SchemaAhead(ctx)
	return schemas{published.ByKind(of), expect, stop}
}

// readSchemas returns what reads the schemas of a plan's kinds. Where they are is asked beside
// the objects if the plan is likely to need one, unless that was asked before. So are those of
// custom kinds, which are on no disk after their definitions changed.
func readSchemas(ctx context.Context, client *cluster.Client, p *plan.Plan, before *early) schemas {
	asked := askTypes(p)
	var s schemas
	switch {
	case before != nil && before.schemas.expect != nil:
		s = schemas{of: before.schemas.of, expect: before.schemas.expect} // That ends it.
	case len(asked) > 0:
		s = schemasAhead(ctx, client)
	default:
		return schemas{of: published.ByKind(client.SchemaOnce(ctx))}
	}
	s.expect(slices.DeleteFunc(asked, func(gv schema.GroupVersion) bool { return object.IsBuiltIn(gv.Group) }))
	return s
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

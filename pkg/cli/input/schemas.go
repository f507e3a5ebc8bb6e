package input

import (
	"context"

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

// readSchemas returns what reads the schemas of a plan's kinds. If the plan is likely to need
// some, they are read beside the objects: asked for after them, they would cost two round
// trips. Where they are may have been asked before.
func readSchemas(ctx context.Context, client *cluster.Client, p *plan.Plan, before *early) schemas {
	likely := likelyAsked(p)
	var s schemas
	switch {
	case before != nil && before.schemas.expect != nil:
		s = schemas{of: before.schemas.of, expect: before.schemas.expect} // That ends it.
	case len(likely) > 0:
		s = schemasAhead(ctx, client)
	default:
		return schemas{of: published.ByKind(client.SchemaOnce(ctx))}
	}
	s.expect(likely)
	return s
}

// likelyAsked returns the versions of the objects whose schemas the server will probably be
// asked for, if the plan has several phases. They state a list of maps outside of their
// metadata: in its items the server sets defaults and writes quantities in its own way, and
// whether that is a change is a question of types. Nothing else says what those are.
func likelyAsked(p *plan.Plan) []schema.GroupVersion {
	if len(p.Phases) < 2 {
		return nil // Few objects, and what they ask is asked soon.
	}
	likely := sets.New[schema.GroupVersion]()
	for _, item := range untold(p) {
		if likely.Has(item.GVK.GroupVersion()) {
			continue
		}
		for name, v := range item.Object.Object {
			if name != "metadata" && hasListOfMaps(v) {
				likely.Insert(item.GVK.GroupVersion())
			}
		}
	}
	return likely.UnsortedList()
}

// untold returns the items of a plan whose types only a schema shows: not those of Kubernetes'
// own kinds, nor those whose definitions the plan has, nor those of kinds that are not served.
func untold(p *plan.Plan) []*plan.Item {
	definitions := sets.New[string]()
	for _, ph := range p.Phases {
		for i := range ph.Items {
			if key := ph.Items[i].Key(); isDefinition(key) {
				definitions.Insert(key.Name)
			}
		}
	}
	var out []*plan.Item
	for _, ph := range p.Phases {
		for i := range ph.Items {
			item := &ph.Items[i]
			kind := item.Kind
			if kind.Resource != "" && !object.IsBuiltIn(item.GVK.Group) && !definitions.Has(kind.Resource+"."+item.GVK.Group) {
				out = append(out, item)
			}
		}
	}
	return out
}

// customKinds returns the kinds of a plan that are not Kubernetes' own.
func customKinds(p *plan.Plan) []schema.GroupVersionKind {
	kinds := sets.New[schema.GroupVersionKind]()
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if !object.IsBuiltIn(item.GVK.Group) {
				kinds.Insert(item.GVK)
			}
		}
	}
	return kinds.UnsortedList()
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

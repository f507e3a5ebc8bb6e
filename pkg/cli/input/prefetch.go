package input

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
)

// prefetched is what was begun by kinds as the cache remembers them, while the server is asked
// whether they are still served like that. It only reads, and counts only if they are.
type prefetched struct {
	kinds   map[schema.GroupVersionKind]object.Kind
	reader  *prefetch.Reader
	schemas schemas
}

// startPrefetch begins to read the objects of the manifests. It returns nil if there is nothing
// that the server has to be asked before, and if the cache lacks a kind that the manifests do not
// define: then it is probably behind, and all would be read again. Their kinds are probably new,
// and are looked up meanwhile.
func startPrefetch(ctx context.Context, client *client.Client, manifests []object.Manifest, scope plan.Options) (*prefetched, error) {
	known, sure, err := remembered(ctx, client, manifests)
	if err != nil || sure {
		return nil, err
	}
	scope.Kinds = known
	p, err := plan.Build(manifests, scope)
	if err != nil || !definesMissing(p) {
		return nil, nil // It is an error by the true kinds, too, or they differ.
	}
	return &prefetched{kinds: known, reader: prefetch.Start(ctx, client, p), schemas: readSchemas(ctx, client, p)}, nil
}

// remembered returns the kinds of the manifests as the cache has them, without those that it
// lacks, and whether it is sure of all. An empty cache fills itself. If it cannot, kinds are
// not asked for again: with a server that is away, that would take as long once more.
func remembered(
	ctx context.Context, client *client.Client, manifests []object.Manifest,
) (known map[schema.GroupVersionKind]object.Kind, sure bool, err error) {
	known, sure = map[schema.GroupVersionKind]object.Kind{}, true
	asked := map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		gvk := m.Ref().GVK
		if asked[gvk] {
			continue
		}
		asked[gvk] = true
		kind, certain, err := client.Remembered(ctx, gvk)
		sure = sure && certain && err == nil
		if unserved(err) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		known[gvk] = kind
	}
	return known, sure, nil
}

// definesMissing reports whether all kinds that are missing in a plan are of its CRDs.
func definesMissing(p *plan.Plan) bool {
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			if it.Kind.Resource == "" && !slices.ContainsFunc(it.Bringers, isDefinition) {
				return false
			}
		}
	}
	return true
}

func isDefinition(key object.Key) bool { return key.Kind == "CustomResourceDefinition" }

// confirm returns what was begun if the server serves the kinds as it was assumed, and
// otherwise ends it and returns nil.
func (f *prefetched) confirm(served map[schema.GroupVersionKind]object.Kind) *prefetched {
	if f == nil || reflect.DeepEqual(f.kinds, served) {
		return f
	}
	f.close()
	return nil
}

func (f *prefetched) close() {
	if f != nil {
		f.reader.Close()
		f.schemas.end()
	}
}

// schemas read the schemas of kinds.
type schemas struct {
	of  func(object.Kind) openapi.Type
	end func()
}

// readSchemas returns what reads the schemas of a plan's kinds. If the plan is likely to need
// some, they are read beside the objects: asked for after them, they would cost two round
// trips.
func readSchemas(ctx context.Context, client *client.Client, p *plan.Plan) schemas {
	likely := likelyAsked(p)
	if len(likely) == 0 {
		return schemas{published.ByKind(client.SchemaOnce(ctx)), func() {}}
	}
	of, expect, stop := client.SchemaAhead(ctx)
	expect(likely)
	return schemas{published.ByKind(of), stop}
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
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if item.Kind.Resource == "" || object.IsBuiltIn(item.GVK.Group) || likely.Has(item.GVK.GroupVersion()) {
				continue // It is not served yet, or is known without a schema.
			}
			for name, v := range item.Object.Object {
				if name != "metadata" && hasListOfMaps(v) {
					likely.Insert(item.GVK.GroupVersion())
				}
			}
		}
	}
	return likely.UnsortedList()
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

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

// prefetched is a read based on the cached kinds. Its results are used only if the server confirms
// those kinds.
type prefetched struct {
	kinds   map[schema.GroupVersionKind]object.Kind
	plan    *plan.Plan
	reader  *prefetch.Reader
	schemas schemas
}

// startPrefetch starts to read the objects and schemas, using the kinds in the cache. It returns
// nil if the cache knows all kinds for certain, or if it lacks a kind that the manifests do not
// define: in that case, the cache is probably outdated.
func startPrefetch(ctx context.Context, client *client.Client, manifests []object.Manifest, scope plan.Options) (*prefetched, error) {
	known, sure, err := remembered(ctx, client, manifests)
	if err != nil || sure {
		return nil, err
	}
	scope.Kinds = known
	p, err := plan.Build(manifests, scope)
	if err != nil || !definesMissing(p) {
		return nil, nil // Unless the cached kinds are outdated, planning with the current kinds reports this error too.
	}
	return &prefetched{kinds: known, plan: p, reader: prefetch.Start(ctx, client, p), schemas: readSchemas(ctx, client, p)}, nil
}

// remembered returns the cached kinds, and whether all of them are certain. It fills an empty
// cache, and returns an error if that fails, to avoid a second wait for an unreachable server.
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

func definesMissing(p *plan.Plan) bool {
	isDefinition := func(key object.Key) bool { return key.Kind == "CustomResourceDefinition" }
	for it := range p.Items() {
		if it.Kind.Resource == "" && !slices.ContainsFunc(it.Bringers, isDefinition) {
			return false
		}
	}
	return true
}

// confirm returns f if the server serves the same kinds. Otherwise, it closes f and returns nil.
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

type schemas struct {
	of  func(object.Kind) openapi.Type
	end func()
}

// readSchemas reads the schemas that the plan will probably need. They are read concurrently with
// the objects, which saves two round trips.
func readSchemas(ctx context.Context, client *client.Client, p *plan.Plan) schemas {
	likely := likelyAsked(p)
	if len(likely) == 0 {
		return schemas{published.ByKind(client.SchemaOnce(ctx)), func() {}}
	}
	of, expect, stop := client.SchemaAhead(ctx)
	expect(likely)
	return schemas{published.ByKind(of), stop}
}

// likelyAsked returns the API versions of objects that are not built in and contain a list of maps.
// The server sets defaults in the list items, and only the schema shows whether a field is a
// default or a change.
func likelyAsked(p *plan.Plan) []schema.GroupVersion {
	if len(p.Phases) < 2 {
		return nil
	}
	likely := sets.New[schema.GroupVersion]()
	for item := range p.Items() {
		if item.Kind.Resource == "" || object.IsBuiltIn(item.GVK.Group) || likely.Has(item.GVK.GroupVersion()) {
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

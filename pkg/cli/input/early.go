package input

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ahead"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// early is what was begun by kinds as the cache remembers them, while the server is asked
// whether they are still served like that. It only reads, and counts only if they are.
type early struct {
	kinds   map[schema.GroupVersionKind]object.Kind
	reader  *ahead.Reader
	schemas func(object.Kind) openapi.Type
	done    func()
	// below is what has read some of the objects before; nil if nothing has.
	below *early
}

// foresee begins to read the objects of the manifests that have not been read before. It
// returns nil if there is nothing that the server has to be asked before, unless it is to begin
// at once; or if the cache lacks a kind that the manifests do not define: then the cache is
// probably behind, and all would be read again. What they define is probably new, and the
// server is asked about it meanwhile. An empty cache fills itself. If it cannot, kinds are not
// asked for again: with a server that is away, that would take as long once more.
func foresee(
	ctx context.Context, client *cluster.Client, manifests []object.Manifest, scope plan.Options, before *early, atOnce bool,
) (*early, error) {
	e := &early{kinds: map[schema.GroupVersionKind]object.Kind{}, below: before}
	all, asked := true, map[schema.GroupVersionKind]bool{}
	for _, m := range manifests {
		gvk := m.Ref().GVK
		if asked[gvk] {
			continue
		}
		asked[gvk] = true
		kind, sure, err := client.Remembered(ctx, gvk)
		all = all && sure && err == nil
		if unserved(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.kinds[gvk] = kind
	}
	if all && before == nil && !atOnce {
		return nil, nil
	}
	scope.Kinds = e.kinds
	p, err := plan.Build(manifests, scope)
	if err != nil {
		return nil, nil // It is an error by the true kinds, too, or they differ.
	}
	if !defined(p) {
		return nil, nil
	}
	e.reader = ahead.StartAll(ctx, before.or(client), p)
	e.schemas, e.done = readSchemas(ctx, client, p)
	return e, nil
}

// defined reports whether all kinds that are missing in a plan are of its definitions.
func defined(p *plan.Plan) bool {
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
func (e *early) confirm(served map[schema.GroupVersionKind]object.Kind) *early {
	if e == nil || reflect.DeepEqual(e.kinds, served) {
		return e
	}
	e.close()
	return nil
}

// or returns what reads the objects that were not read before from a server.
func (e *early) or(server ahead.Server) ahead.Server {
	if e == nil {
		return server
	}
	return e.reader
}

func (e *early) close() {
	if e != nil {
		e.reader.Close()
		e.done()
		e.below.close()
	}
}

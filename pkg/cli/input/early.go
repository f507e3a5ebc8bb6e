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
)

// early is what was begun by kinds as the cache remembers them, while the server is asked
// whether they are still served like that. It only reads, and counts only if they are.
type early struct {
	kinds   map[schema.GroupVersionKind]object.Kind
	reader  *ahead.Reader
	schemas schemas
	// cancel ends all that it asks; nil if its context is not its own.
	cancel context.CancelFunc
	// below is what has read some of the objects before; nil if nothing has.
	below *early
}

// readEarly begins to read the objects of the manifests that were not read before. It returns nil
// if there is nothing that the server has to be asked before, and if nothing should be read yet.
func readEarly(ctx context.Context, client *cluster.Client, manifests []object.Manifest, scope plan.Options, before *early) (*early, error) {
	known, sure, err := remembered(ctx, client, manifests)
	if err != nil || sure && before == nil {
		return nil, err
	}
	scope.Kinds = known
	e, p := begin(ctx, client, manifests, scope, before)
	if e != nil {
		e.schemas = readSchemas(ctx, client, p, before)
	}
	return e, nil
}

// remembered returns the kinds of the manifests as the cache has them, without those that it
// lacks, and whether it is sure of all. An empty cache fills itself. If it cannot, kinds are
// not asked for again: with a server that is away, that would take as long once more.
func remembered(
	ctx context.Context, client *cluster.Client, manifests []object.Manifest,
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

// begin begins to read the objects of the manifests by the kinds of the scope. It returns nil
// if those lack a kind that the manifests do not define: then the cache is probably behind,
// and all would be read again. What they define is probably new, and the server is asked about
// it meanwhile.
func begin(ctx context.Context, client *cluster.Client, manifests []object.Manifest, scope plan.Options, before *early) (*early, *plan.Plan) {
	p, err := plan.Build(manifests, scope)
	if err != nil || !defined(p) {
		return nil, nil // It is an error by the true kinds, too, or they differ.
	}
	return &early{kinds: scope.Kinds, reader: ahead.StartAll(ctx, before.or(client), p), below: before}, p
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
	if e == nil {
		return
	}
	e.reader.Close()
	e.schemas.end()
	if e.cancel != nil {
		e.cancel()
	}
	e.below.close()
}

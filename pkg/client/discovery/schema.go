package discovery

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Schema returns the OpenAPI v3 schema of a kind, with every reference in it resolved; a
// reference that leads back to itself becomes an object without properties. A resolved
// schema has the name of its type as its ID. Schema returns nil if the server has none.
// The documents are kept in kubectl's cache.
func (d *Discovery) Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error) {
	index, err := d.published(ctx, kind.GVK, nil)
	if err != nil {
		return nil, schemaError(kind, err)
	}
	text, err := d.document(ctx, index, kind.GVK, nil)
	if err != nil {
		return nil, schemaError(kind, err)
	}
	doc, err := cut(text)
	if err != nil {
		return nil, schemaError(kind, err)
	}
	s, err := doc.of(kind.GVK)
	if err != nil || s == nil {
		return nil, schemaError(kind, err)
	}
	s, err = doc.resolved(s, sets.New[string]())
	return s, schemaError(kind, err)
}

// schemaError says which schema could not be read. That the server has none is no error:
// it has no OpenAPI v3, or does not let us read it.
func schemaError(kind object.Kind, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsNotAcceptable(err) {
		return nil
	}
	if untold(err) {
		return &UntoldSchemaError{Kind: kind.GVK.Kind, Err: err}
	}
	return fmt.Errorf("schema of %s: %w", kind.GVK.Kind, err)
}

// Lookup returns the schema of a kind, nil if unknown. References are not resolved: follow returns
// what a schema refers to, with whatever that use of it adds and the name of its type as its ID, or
// the schema itself if it refers to nothing. A type is read once, when first needed. Schemas are
// shared and must not be changed. Both functions may be called concurrently.
type Lookup func(kind object.Kind) (s *spec.Schema, follow func(*spec.Schema) *spec.Schema)

// SchemaOnce is Schema for callers that ask again and again about few kinds, and look at
// little of each: it asks the server once for each group version, and once for which of them
// there are. A schema is nil if it gets no answer.
func (d *Discovery) SchemaOnce(ctx context.Context) Lookup {
	all := sync.OnceValue(func() index { return d.index(ctx, nil) })
	return lookUpIn(d.documents(ctx, func(schema.GroupVersion) index { return all() }, func(schema.GroupVersion) *question { return &question{} }))
}

// SchemaAhead is SchemaOnce for a run that will probably need schemas: it requests the list of
// documents at once, beside other requests, and the documents of group versions when the caller
// expects to need them. A group version that was not among them then is looked for again, once it
// is asked about. A prefetch that fails is neither reported nor tried again until its result is
// needed. stop has to be called in the end; then nothing is asked any more, and nothing may be
// expected.
func (d *Discovery) SchemaAhead(ctx context.Context) (of Lookup, expect func([]schema.GroupVersion), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	where, what := newQuestion(), once(func(schema.GroupVersion) *question { return newQuestion() })
	first := sync.OnceValue(func() index { return d.index(ctx, where.asked) })
	again := sync.OnceValue(func() index { return d.index(ctx, nil) })
	documents := d.documents(ctx, func(gv schema.GroupVersion) index {
		if known := first(); known == nil || known.of(gv) != nil {
			return known // Without an answer, another question gets none either.
		}
		return again()
	}, what)
	var asking sync.WaitGroup
	told := make(chan struct{})
	asking.Go(func() {
		first()
		close(told)
	})
	expect = func(likely []schema.GroupVersion) {
		for _, gv := range likely {
			asking.Go(func() {
				if <-told; first().of(gv) != nil {
					documents(gv)
				}
			})
		}
	}
	known := lookUpIn(documents)
	of = func(kind object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) {
		where.ask()
		what(kind.GVK.GroupVersion()).ask()
		return known(kind)
	}
	return of, expect, func() { cancel(); asking.Wait() }
}

// question is what may be sent before it is asked. The zero value is asked from the start.
type question struct {
	asked chan struct{}
	once  sync.Once
}

func newQuestion() *question { return &question{asked: make(chan struct{})} }

func (q *question) ask() { q.once.Do(func() { close(q.asked) }) }

// documents returns what reads the document of each group version once, by the index that
// has it. Without an answer, it is empty.
func (d *Discovery) documents(
	ctx context.Context, indexOf func(schema.GroupVersion) index, what func(schema.GroupVersion) *question,
) func(schema.GroupVersion) []byte {
	return once(func(gv schema.GroupVersion) []byte {
		text, _ := d.document(ctx, indexOf(gv), gv.WithKind(""), what(gv).asked)
		return text
	})
}

// lookUpIn returns what looks up each kind once in the documents.
func lookUpIn(texts func(schema.GroupVersion) []byte) Lookup {
	documents := once(func(gv schema.GroupVersion) *document {
		doc, err := cut(texts(gv))
		if err != nil {
			return &document{}
		}
		return doc
	})
	kinds := once(func(gvk schema.GroupVersionKind) *spec.Schema {
		s, err := documents(gvk.GroupVersion()).of(gvk)
		if err != nil {
			return nil
		}
		return s
	})
	return func(kind object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) {
		return kinds(kind.GVK), documents(kind.GVK.GroupVersion()).known
	}
}

// index says where the documents of the group versions are.
type index map[string]openapi.GroupVersionWithContext

// of returns the document of a group version; nil if there is none.
func (i index) of(gv schema.GroupVersion) openapi.GroupVersionWithContext {
	return i[strings.Join(transport.GroupPath(gv.Group, gv.Version), "/")[1:]]
}

// index is published without the error: without an answer it is nil, and no schema is known.
func (d *Discovery) index(ctx context.Context, asked <-chan struct{}) index {
	paths, _ := d.published(ctx, schema.GroupVersionKind{}, asked)
	return paths
}

// published reads where the server has the documents of its group versions. gvk is what the
// question is about, if it is about one kind; asked is as in [request.Request].
func (d *Discovery) published(ctx context.Context, gvk schema.GroupVersionKind, asked <-chan struct{}) (paths index, err error) {
	client := openapi.NewClientWithContext(d.cache.live.RESTClient())
	err = d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
		paths, err = client.PathsWithContext(quietly(ctx))
		return err
	})
	return paths, err
}

// document reads the server's document of a group version; it is empty if there is none. It
// uses the client of discovery, which keeps the document on disk: its address contains its
// version.
func (d *Discovery) document(
	ctx context.Context, index index, gvk schema.GroupVersionKind, asked <-chan struct{},
) (text []byte, err error) {
	document := index.of(gvk.GroupVersion())
	if document == nil {
		return nil, nil
	}
	err = d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
		text, err = document.SchemaWithContext(quietly(ctx), runtime.ContentTypeJSON)
		return err
	})
	return text, err
}

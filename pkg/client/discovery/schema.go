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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Schema returns the OpenAPI v3 schema of a kind; nil if there is none. All references are
// resolved; a circular one becomes an object without properties. The ID of a resolved schema is the
// name of its type. Documents are stored in kubectl's cache.
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
	s, err := doc.schema(kind.GVK)
	if err != nil || s == nil {
		return nil, schemaError(kind, err)
	}
	s, err = doc.resolved(s, sets.New[string]())
	return s, schemaError(kind, err)
}

// schemaError returns nil if the server has no OpenAPI v3, or does not let us read it.
func schemaError(kind object.Kind, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsNotAcceptable(err) {
		return nil
	}
	if unreported(err) {
		answer := ""
		if code := transport.StatusOf(err).Code; code != 0 {
			answer = fmt.Sprintf("it returned %d: ", code)
		}
		return transport.Unanswered("see: "+command.Kubectl("get", "--raw", "/openapi/v3")+"; --server-timeout=5m keeps trying longer",
			"the server did not return the schema of %s: %s%w", kind.GVK.Kind, answer, err)
	}
	return fmt.Errorf("schema of %s: %w", kind.GVK.Kind, err)
}

// Lookup returns the schema of a kind, or nil, and a function that follows one reference in it. The
// function returns the referenced schema with the keywords next to the reference; its ID is the
// name of its type. For a schema without a reference, the function returns the schema itself. Types
// are decoded on first use. Schemas are shared and must not be changed. Both functions are safe for
// concurrent use.
type Lookup func(kind object.Kind) (s *spec.Schema, follow func(*spec.Schema) *spec.Schema)

// SchemaOnce returns a Lookup that requests each document only once. If the server does not answer,
// the Lookup returns nil.
func (d *Discovery) SchemaOnce(ctx context.Context) Lookup {
	all := sync.OnceValue(func() index { return d.index(ctx, nil) })
	return lookUpIn(d.documents(ctx, func(schema.GroupVersion) index { return all() }, func(schema.GroupVersion) *question { return &question{} }))
}

// SchemaAhead is like SchemaOnce, but requests the list of documents immediately. The function
// expect requests the documents of the given group versions. If a group version is missing from the
// list, the list is requested again when the group version is needed. A failed prefetch is neither
// reported nor retried until its result is needed. The caller must call stop at the end. After
// that, no request is sent.
func (d *Discovery) SchemaAhead(ctx context.Context) (of Lookup, expect func([]schema.GroupVersion), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	where, what := newQuestion(), once(func(schema.GroupVersion) *question { return newQuestion() })
	first := sync.OnceValue(func() index { return d.index(ctx, where.asked) })
	again := sync.OnceValue(func() index { return d.index(ctx, nil) })
	documents := d.documents(ctx, func(gv schema.GroupVersion) index {
		if known := first(); known == nil || known.document(gv) != nil {
			return known // If the server did not answer, there is no point in asking again.
		}
		return again()
	}, what)
	var asking sync.WaitGroup
	reported := make(chan struct{})
	asking.Go(func() {
		first()
		close(reported)
	})
	expect = func(likely []schema.GroupVersion) {
		for _, gv := range likely {
			asking.Go(func() {
				if <-reported; first().document(gv) != nil {
					documents(gv)
				}
			})
		}
	}
	known := lookUpIn(documents)
	of = func(kind object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) {
		where.request()
		what(kind.GVK.GroupVersion()).request()
		return known(kind)
	}
	return of, expect, func() { cancel(); asking.Wait() }
}

type question struct {
	asked chan struct{}
	once  sync.Once
}

func newQuestion() *question { return &question{asked: make(chan struct{})} }

func (q *question) request() { q.once.Do(func() { close(q.asked) }) }

// documents returns a function that returns the document of a group version. The function requests
// each document only once. The document is empty if the server does not answer.
func (d *Discovery) documents(
	ctx context.Context, indexOf func(schema.GroupVersion) index, what func(schema.GroupVersion) *question,
) func(schema.GroupVersion) []byte {
	return once(func(gv schema.GroupVersion) []byte {
		text, _ := d.document(ctx, indexOf(gv), gv.WithKind(""), what(gv).asked)
		return text
	})
}

func lookUpIn(texts func(schema.GroupVersion) []byte) Lookup {
	documents := once(func(gv schema.GroupVersion) *document {
		doc, err := cut(texts(gv))
		if err != nil {
			return &document{}
		}
		return doc
	})
	kinds := once(func(gvk schema.GroupVersionKind) *spec.Schema {
		s, err := documents(gvk.GroupVersion()).schema(gvk)
		if err != nil {
			return nil
		}
		return s
	})
	return func(kind object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) {
		return kinds(kind.GVK), documents(kind.GVK.GroupVersion()).known
	}
}

type index map[string]openapi.GroupVersionWithContext

func (i index) document(gv schema.GroupVersion) openapi.GroupVersionWithContext {
	return i[strings.Join(transport.GroupPath(gv.Group, gv.Version), "/")[1:]]
}

func (d *Discovery) index(ctx context.Context, asked <-chan struct{}) index {
	paths, _ := d.published(ctx, schema.GroupVersionKind{}, asked)
	return paths
}

// published reads the addresses of the documents. The parameter asked has the same meaning as Asked
// in [transport.Request].
func (d *Discovery) published(ctx context.Context, gvk schema.GroupVersionKind, asked <-chan struct{}) (paths index, err error) {
	client := openapi.NewClientWithContext(d.cache.live.RESTClient())
	err = d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
		paths, err = client.PathsWithContext(quietly(ctx))
		return err
	})
	return paths, err
}

// document returns the text of an OpenAPI document; empty if the server has no such document. The
// discovery client caches documents on disk. The address of a document contains its version, so a
// cached document is never outdated.
func (d *Discovery) document(
	ctx context.Context, index index, gvk schema.GroupVersionKind, asked <-chan struct{},
) (text []byte, err error) {
	document := index.document(gvk.GroupVersion())
	if document == nil {
		return nil, nil
	}
	err = d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
		text, err = document.SchemaWithContext(quietly(ctx), runtime.ContentTypeJSON)
		return err
	})
	return text, err
}

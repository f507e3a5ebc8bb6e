package kinds

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
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
	return s, schemaError(kind, err)
}

// schemaError says which schema could not be read. That the server has none is no error:
// it has no OpenAPI v3, or does not let us read it.
func schemaError(kind object.Kind, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsNotAcceptable(err) {
		return nil
	}
	return fmt.Errorf("schema of %s: %w", kind.GVK.Kind, err)
}

// SchemaOnce is Schema for callers that ask again and again about few kinds: it asks the
// server once for each group version, and once for which of them there are. It returns nil
// if it gets no answer.
func (d *Discovery) SchemaOnce(ctx context.Context) func(object.Kind) *spec.Schema {
	all := sync.OnceValue(func() index { return d.index(ctx, nil) })
	return schemasIn(d.documents(ctx, func(schema.GroupVersion) index { return all() }, func(schema.GroupVersion) *question { return &question{} }))
}

// SchemaAhead is SchemaOnce for a run that will probably ask: it asks at once, beside
// whatever else is asked, which documents there are, and then for those of the group
// versions. A group version that was not among them then is looked for again, once it is
// asked about. What fails before it is asked about is not reported, nor tried again until
// then. stop has to be called in the end; then nothing is asked any more.
func (d *Discovery) SchemaAhead(ctx context.Context, likely []schema.GroupVersion) (of func(object.Kind) *spec.Schema, stop func()) {
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
	asking.Go(func() {
		known := first()
		for _, gv := range likely {
			if known.of(gv) != nil {
				asking.Go(func() { documents(gv) })
			}
		}
	})
	known := schemasIn(documents)
	of = func(kind object.Kind) *spec.Schema {
		where.ask()
		what(kind.GVK.GroupVersion()).ask()
		return known(kind)
	}
	return of, func() { cancel(); asking.Wait() }
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

// schemasIn returns what looks up each kind once in the documents.
func schemasIn(documents func(schema.GroupVersion) []byte) func(object.Kind) *spec.Schema {
	all := once(func(gv schema.GroupVersion) *schemas {
		doc, err := cut(documents(gv))
		if err != nil {
			return &schemas{}
		}
		return doc
	})
	kinds := once(func(gvk schema.GroupVersionKind) *spec.Schema {
		s, err := all(gvk.GroupVersion()).of(gvk)
		if err != nil {
			return nil
		}
		return s
	})
	return func(kind object.Kind) *spec.Schema { return kinds(kind.GVK) }
}

// index says where the documents of the group versions are.
type index map[string]openapi.GroupVersionWithContext

// of returns the document of a group version; nil if there is none.
func (i index) of(gv schema.GroupVersion) openapi.GroupVersionWithContext {
	return i[strings.Join(request.GroupPath(gv.Group, gv.Version), "/")[1:]]
}

// index is published without the error: without an answer it is nil, and no schema is known.
func (d *Discovery) index(ctx context.Context, asked <-chan struct{}) index {
	paths, _ := d.published(ctx, schema.GroupVersionKind{}, asked)
	return paths
}

// once returns a function that calls f once for each argument. Who asks meanwhile waits.
func once[K comparable, V any](f func(K) V) func(K) V {
	var mu sync.Mutex
	known := map[K]func() V{}
	return func(key K) V {
		mu.Lock()
		value, ok := known[key]
		if !ok {
			value = sync.OnceValue(func() V { return f(key) })
			known[key] = value
		}
		mu.Unlock()
		return value()
	}
}

// published reads where the server has the documents of its group versions. gvk is what the
// question is about, if it is about one kind; asked is as in [request.Request].
func (d *Discovery) published(ctx context.Context, gvk schema.GroupVersionKind, asked <-chan struct{}) (paths index, err error) {
	client := openapi.NewClientWithContext(d.cache.live.RESTClient())
	err = d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
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
	err = d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gvk}, Bulk: true, Patience: forSchemas, Asked: asked}, func(ctx context.Context) (err error) {
		text, err = document.SchemaWithContext(quietly(ctx), runtime.ContentTypeJSON)
		return err
	})
	return text, err
}

// schemas is the document of a group version. Only the schemas that a kind refers to are
// decoded.
type schemas struct {
	Components struct {
		Schemas map[string]jsontext.Value `json:"schemas"`
	} `json:"components"`
	// names are those of the kinds' schemas.
	names map[schema.GroupVersionKind]string
}

// asServed reads a document as encoding/json does, which overlooks what a server may have
// written twice, or in another encoding. It is not used itself: it reads a text twice
// to find out where a schema ends, and there are megabytes of them.
func asServed() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// cut cuts a document into its schemas; it has none if the text is empty.
func cut(text []byte) (*schemas, error) {
	out := &schemas{}
	if len(text) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(text, out, asServed()); err != nil {
		return nil, err
	}
	return out, out.index()
}

const refPrefix = "#/components/schemas/"

// index notes which schema is whose.
func (s *schemas) index() error {
	s.names = map[schema.GroupVersionKind]string{}
	const mark = "x-kubernetes-group-version-kind"
	for name, text := range s.Components.Schemas {
		if !bytes.Contains(text, []byte(mark)) {
			continue // Most are parts of kinds, and need not be decoded for that.
		}
		var marked struct {
			Kinds []struct {
				Group   string `json:"group"`
				Version string `json:"version"`
				Kind    string `json:"kind"`
			} `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(text, &marked, asServed()); err != nil {
			return err
		}
		for _, kind := range marked.Kinds {
			s.names[schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}] = name
		}
	}
	return nil
}

// of returns the schema of a kind; nil if there is none.
func (s *schemas) of(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	name, has := s.names[gvk]
	if !has {
		return nil, nil
	}
	return s.named(name, sets.New[string]())
}

// named returns a schema by its name. above are those that it is part of.
func (s *schemas) named(name string, above sets.Set[string]) (*spec.Schema, error) {
	if above.Has(name) {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}, nil
	}
	above.Insert(name)
	defer above.Delete(name)
	text, ok := s.Components.Schemas[name]
	if !ok {
		return nil, fmt.Errorf("it refers to %s, which is not there", name)
	}
	var out spec.Schema
	// Not through a decoder, which would read the text twice more to find its end.
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	out.ID = name
	return &out, s.resolve(&out, above)
}

// resolve replaces references, in place.
func (s *schemas) resolve(in *spec.Schema, above sets.Set[string]) error {
	if name, ok := refOf(in); ok {
		referred, err := s.named(name, above)
		if err != nil {
			return err
		}
		// Extensions beside the reference apply to this use of it: a selector that is
		// atomic by its type can be granular here.
		for key, value := range in.Extensions {
			referred.AddExtension(key, value)
		}
		if in.Default != nil {
			referred.Default = in.Default
		}
		*in = *referred
		return nil
	}
	for name, prop := range in.Properties {
		if err := s.resolve(&prop, above); err != nil {
			return err
		}
		in.Properties[name] = prop
	}
	if in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil {
		if err := s.resolve(in.AdditionalProperties.Schema, above); err != nil {
			return err
		}
	}
	if in.Items != nil && in.Items.Schema != nil {
		return s.resolve(in.Items.Schema, above)
	}
	return nil
}

// refOf returns the name that a schema refers to. A description beside a reference makes
// Kubernetes wrap it in allOf, and nothing else does (k/k#106387).
func refOf(in *spec.Schema) (name string, ok bool) {
	if in.Ref.GetURL() != nil {
		return strings.TrimPrefix(in.Ref.String(), refPrefix), true
	}
	for _, all := range in.AllOf {
		if name, ok := refOf(&all); ok {
			return name, true
		}
	}
	return "", false
}

package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

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
	doc, err := d.schemas(ctx, kind.GVK)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsNotAcceptable(err):
		return nil, nil // A server without OpenAPI v3, or one that does not let us read it.
	case err != nil:
		return nil, fmt.Errorf("schema of %s: %w", kind.GVK.Kind, err)
	}
	s, err := doc.of(kind.GVK)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", kind.GVK.Kind, err)
	}
	return s, nil
}

// SchemaOnce is Schema for callers that ask again and again about few kinds: it asks the
// server once for each, and returns nil if it gets no answer.
func (d *Discovery) SchemaOnce(ctx context.Context) func(object.Kind) *spec.Schema {
	var mu sync.Mutex
	known := map[schema.GroupVersionKind]func() *spec.Schema{}
	return func(kind object.Kind) *spec.Schema {
		mu.Lock()
		ask, ok := known[kind.GVK]
		if !ok {
			ask = sync.OnceValue(func() *spec.Schema {
				s, err := d.Schema(ctx, kind)
				if err != nil {
					return nil
				}
				return s
			})
			known[kind.GVK] = ask
		}
		mu.Unlock()
		return ask()
	}
}

// schemas reads the server's document of a group version. It uses the client of
// discovery, which keeps the document on disk: its address contains its version.
func (d *Discovery) schemas(ctx context.Context, gvk schema.GroupVersionKind) (*schemas, error) {
	out := &schemas{}
	published := openapi.NewClientWithContext(d.cache.RESTClient())
	name := strings.Join(request.GroupPath(gvk.Group, gvk.Version), "/")[1:]
	err := d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gvk}, Bulk: true}, func(ctx context.Context) error {
		paths, err := published.PathsWithContext(quietly(ctx))
		if err != nil || paths[name] == nil {
			return err
		}
		text, err := paths[name].SchemaWithContext(quietly(ctx), runtime.ContentTypeJSON)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, out)
	})
	return out, err
}

// schemas is the document of a group version. Only the schemas that a kind refers to are
// decoded.
type schemas struct {
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

const refPrefix = "#/components/schemas/"

// of returns the schema of a kind; nil if there is none.
func (s *schemas) of(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	for name, text := range s.Components.Schemas {
		var marked struct {
			Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(text, &marked); err != nil {
			return nil, err
		}
		for _, kind := range marked.Kinds {
			if schema.GroupVersionKind(kind) == gvk {
				return s.named(name, sets.New[string]())
			}
		}
	}
	return nil, nil
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
	if err := json.Unmarshal(text, &out); err != nil {
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

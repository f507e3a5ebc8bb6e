package discovery

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
)

// document is what a server publishes of a group version: schemas that refer to one another
// by their names. A schema is decoded when something looks into it, and once, however many
// refer to it; what the methods return is shared, and must not be changed. They may be
// called side by side.
type document struct {
	texts map[string][]byte
	named func(name string) decoded
}

// decoded is a schema as it is written, with its name as its ID, or why it cannot be read.
type decoded struct {
	schema *spec.Schema
	err    error
}

// cut cuts a document into its schemas; it has none if the text is empty. The text must not
// be changed afterwards.
func cut(text []byte) (*document, error) {
	out := &document{texts: map[string][]byte{}}
	out.named = once(out.decode)
	if len(text) == 0 {
		return out, nil
	}
	from := transport.Decoder(text)
	return out, transport.Members(from, func(name string) error {
		if name != "components" {
			return skip(from)
		}
		return transport.Members(from, func(name string) error {
			if name != "schemas" {
				return skip(from)
			}
			return transport.Members(from, func(name string) error {
				one, err := from.ReadValue()
				end := int(from.InputOffset())
				out.texts[name] = text[end-len(one) : end]
				return err
			})
		})
	})
}

// skip reads a value as a whole; SkipValue reads it token by token, which takes longer.
func skip(from *jsontext.Decoder) error {
	_, err := from.ReadValue()
	return err
}

func (d *document) decode(name string) decoded {
	text, ok := d.texts[name]
	if !ok {
		return decoded{err: fmt.Errorf("it refers to %s, which is not there", name)}
	}
	var out spec.Schema
	// Not through a decoder, which would read the text twice more to find its end.
	if err := out.UnmarshalJSON(text); err != nil {
		return decoded{err: fmt.Errorf("%s: %w", name, err)}
	}
	out.ID = name
	return decoded{schema: &out}
}

// of returns the schema of a kind; nil if there is none.
func (d *document) of(gvk schema.GroupVersionKind) (found *spec.Schema, err error) {
	const mark = "x-kubernetes-group-version-kind"
	quoted := []byte(`"` + gvk.Kind + `"`)
	for name, text := range d.texts {
		if !bytes.Contains(text, quoted) || !bytes.Contains(text, []byte(mark)) {
			continue // Most are parts of kinds, or other kinds, and need not be decoded for that.
		}
		one := d.named(name)
		if one.err != nil {
			err = one.err // It may be that of another kind.
			continue
		}
		var kinds []schema.GroupVersionKind
		if one.schema.Extensions.GetObject(mark, &kinds) == nil && slices.Contains(kinds, gvk) {
			return one.schema, nil
		}
	}
	return nil, err
}

// follow returns what a schema refers to, with what stands beside the reference; the schema
// itself if it refers to nothing. A reference that leads back to itself is to an object.
// followed are those that led to it.
func (d *document) follow(in *spec.Schema, followed ...string) (*spec.Schema, error) {
	name, ok := refOf(in)
	if !ok {
		return in, nil
	}
	if slices.Contains(followed, name) {
		return beside(in, anObject()), nil
	}
	next := d.named(name)
	if next.err != nil {
		return nil, next.err
	}
	referred, err := d.follow(next.schema, append(followed, name)...)
	if err != nil {
		return nil, err
	}
	return beside(in, referred), nil
}

// known is follow without the error: of what cannot be read, nothing is known.
func (d *document) known(in *spec.Schema) *spec.Schema {
	out, err := d.follow(in)
	if err != nil {
		return &spec.Schema{}
	}
	return out
}

// resolved returns a schema with every reference in it followed. A reference to one of those
// that it is part of becomes an object without properties: above are their names.
func (d *document) resolved(in *spec.Schema, above sets.Set[string]) (*spec.Schema, error) {
	referred, err := d.follow(in)
	if err != nil {
		return nil, err
	}
	if name := referred.ID; name != "" {
		if above.Has(name) {
			return beside(in, anObject()), nil
		}
		above.Insert(name)
		defer above.Delete(name)
	}
	out := *referred
	out.Properties = maps.Clone(out.Properties)
	for name, prop := range out.Properties {
		of, err := d.resolved(&prop, above)
		if err != nil {
			return nil, err
		}
		out.Properties[name] = *of
	}
	if values := out.AdditionalProperties; values != nil && values.Schema != nil {
		of, err := d.resolved(values.Schema, above)
		if err != nil {
			return nil, err
		}
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: values.Allows, Schema: of}
	}
	if items := out.Items; items != nil && items.Schema != nil {
		of, err := d.resolved(items.Schema, above)
		if err != nil {
			return nil, err
		}
		out.Items = &spec.SchemaOrArray{Schema: of, Schemas: items.Schemas}
	}
	return &out, nil
}

func anObject() *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
}

// beside returns what is referred to as it is at one use of it: a selector that is atomic by
// its type can be granular there.
func beside(use, referred *spec.Schema) *spec.Schema {
	if len(use.Extensions) == 0 && use.Default == nil {
		return referred
	}
	out := *referred
	out.Extensions = maps.Clone(out.Extensions) // Other uses have them too.
	for key, value := range use.Extensions {
		out.AddExtension(key, value)
	}
	if use.Default != nil {
		out.Default = use.Default
	}
	return &out
}

// refOf returns the name that a schema refers to. A description beside a reference makes
// Kubernetes wrap it in allOf, and nothing else does (k/k#106387).
func refOf(in *spec.Schema) (name string, ok bool) {
	if in.Ref.GetURL() != nil {
		return strings.TrimPrefix(in.Ref.String(), "#/components/schemas/"), true
	}
	for _, all := range in.AllOf {
		if name, ok := refOf(&all); ok {
			return name, true
		}
	}
	return "", false
}

// Package local derives the types of Kubernetes' own kinds from compiled Go types, so that a
// server's schemas need not be read first. Use [Types.Of].
package local

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Types provides the types of Kubernetes' own kinds. The zero value is ready to use and safe for
// concurrent use.
//
// The server may be older or newer than the compiled types, and have fewer or more fields. But in a
// stable API version, the type and the ownership of a field never change
// (https://kubernetes.io/docs/reference/using-api/deprecation-policy/).
type Types struct {
	structs sync.Map // maps a reflect.Type to its fields, a map[string]field
}

// Of returns the type of one of Kubernetes' own kinds. Of all defaults, it has only those of list
// items' keys, because Go types have none. It returns nil for other kinds, for kinds that the linked
// Go packages do not know, and for alpha and beta versions.
func (t *Types) Of(kind object.Kind) openapi.Type {
	gvk := kind.GVK
	if strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
		return nil
	}
	value, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil
	}
	return t.typeOf(field{value: reflect.TypeOf(value)})
}

func (t *Types) typeOf(f field) openapi.Type {
	for f.value.Kind() == reflect.Pointer {
		f.value, f.pointer = f.value.Elem(), true
	}
	return typ{field: f, all: t}
}

type field struct {
	value      reflect.Type
	extensions map[string]any
	// ofKey is the default of a key field.
	ofKey any
	// pointer means that the field distinguishes its zero value from no value.
	pointer bool
}

type typ struct {
	field
	all *Types
}

// Name is empty for lists, maps and scalars.
func (t typ) Name() string {
	named, ok := reflect.TypeAssert[interface{ OpenAPIModelName() string }](reflect.Zero(t.value))
	if !ok {
		return ""
	}
	return named.OpenAPIModelName()
}

func (t typ) Kinds() []string {
	zero := reflect.Zero(t.value)
	if _, either := reflect.TypeAssert[interface{ OpenAPIV3OneOfTypes() []string }](zero); either {
		return nil // a quantity, or an int-or-string
	}
	if own, ok := reflect.TypeAssert[interface{ OpenAPISchemaType() []string }](zero); ok {
		return own.OpenAPISchemaType()
	}
	switch t.value.Kind() {
	case reflect.Struct, reflect.Map:
		return []string{"object"}
	case reflect.Slice:
		if t.value.Elem().Kind() == reflect.Uint8 {
			return []string{"string"} // in base64
		}
		return []string{"array"}
	case reflect.String:
		return []string{"string"}
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return []string{"integer"}
	case reflect.Float32, reflect.Float64:
		return []string{"number"}
	default:
		return nil
	}
}

func (t typ) Properties() []string {
	var names []string
	for name := range t.all.fields(t) {
		names = append(names, name)
	}
	return names
}

func (t typ) Property(name string) openapi.Type {
	f, ok := t.all.fields(t)[name]
	if !ok {
		return nil
	}
	return t.all.typeOf(f)
}

func (t typ) Values() (values openapi.Type, open bool) {
	if t.value.Kind() != reflect.Map {
		return nil, false
	}
	return t.all.typeOf(field{value: t.value.Elem()}), true
}

func (t typ) Items() openapi.Type {
	if !slices.Contains(t.Kinds(), "array") {
		return nil
	}
	return t.all.typeOf(field{value: t.value.Elem()})
}

func (t typ) Default() any { return t.ofKey }

// Bytes reports whether the Go type is a slice of bytes, which is base64 in JSON.
func (t typ) Bytes() bool {
	return t.value.Kind() == reflect.Slice && t.value.Elem().Kind() == reflect.Uint8
}

// Pointer reports whether the Go type distinguishes a zero value from no value.
func (t typ) Pointer() bool { return t.pointer }

func (t typ) Extension(key string) any {
	if value, ok := t.extensions[key]; ok {
		return value
	}
	if key == mapType && isAtomicType(t.Name()) {
		return "atomic"
	}
	return nil
}

const (
	mapType       = "x-kubernetes-map-type"
	listType      = "x-kubernetes-list-type"
	listMapKeys   = "x-kubernetes-list-map-keys"
	patchStrategy = "x-kubernetes-patch-strategy"
)

func (t *Types) fields(of typ) map[string]field {
	// Some structs are encoded as strings, or accept any value.
	_, own := reflect.TypeAssert[interface{ OpenAPISchemaType() []string }](reflect.Zero(of.value))
	if of.value.Kind() != reflect.Struct || own {
		return nil
	}
	if known, ok := t.structs.Load(of.value); ok {
		return known.(map[string]field)
	}
	out := map[string]field{}
	collect(of.value, strings.TrimPrefix(of.Name(), "io.k8s.api."), out)
	t.structs.Store(of.value, out)
	return out
}

func collect(from reflect.Type, owner string, into map[string]field) {
	for f := range from.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch name {
		case "-":
		case "":
			collect(f.Type, owner, into)
		default:
			into[name] = field{value: f.Type, extensions: extensions(f, owner+"."+name), ofKey: keyDefaultOf(owner + "." + name)}
		}
	}
}

func extensions(f reflect.StructField, name string) map[string]any {
	out := map[string]any{}
	if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
		out[patchStrategy] = strategy
	}
	if as := listTypeOf(name); as != "" {
		out[listType] = as
	}
	if as := mapTypeOf(name); as != "" {
		out[mapType] = as
	}
	if keys := keysOf(name); keys != nil {
		out[listMapKeys] = keys
	}
	return out
}

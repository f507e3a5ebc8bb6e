// Package schemas derives the published JSON schemas from Go types, and validates documents against
// them.
package schemas

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Module is the path of the module whose comments become descriptions.
const Module = "github.com/k8sconnect/kubectl-k8sconnect/"

// Generator derives schemas. Comments on fields become descriptions.
type Generator struct {
	// Root is the folder of the module's source.
	Root string
	// Written names the type whose fields a type's own marshaler writes.
	Written map[reflect.Type]reflect.Type

	definitions map[string]any
	comments    map[string]map[string]string
}

// Of returns the schema of a document. kind and version are the constants in its header; empty if it
// has none.
func (g *Generator) Of(title, kind, version string, document any) (map[string]any, error) {
	g.definitions, g.comments = map[string]any{}, map[string]map[string]string{}
	properties, required := map[string]any{}, []any{}
	if err := g.fields(reflect.TypeOf(document), properties, &required); err != nil {
		return nil, err
	}
	if kind != "" {
		for name, constant := range map[string]string{"kind": kind, "apiVersion": version} {
			header, _ := properties[name].(map[string]any)
			delete(header, "type")
			header["const"] = constant
		}
	}
	out := map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": title,
		"type": "object", "properties": properties, "required": required,
	}
	if len(g.definitions) > 0 {
		out["definitions"] = g.definitions
	}
	return out, nil
}

func (g *Generator) fields(t reflect.Type, properties map[string]any, required *[]any) error {
	comments, err := g.commentsOf(t)
	if err != nil {
		return err
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "":
			of := f.Type
			optional := of.Kind() == reflect.Pointer
			if optional {
				of = of.Elem()
			}
			ignored := []any{}
			into := required
			if optional {
				into = &ignored
			}
			if err := g.fields(of, properties, into); err != nil {
				return err
			}
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		schema, err := g.of(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		if text := comments[f.Name]; text != "" {
			if _, ref := schema["$ref"]; ref { // Draft 7 ignores what stands beside a reference.
				schema = map[string]any{"allOf": []any{schema}}
			}
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	return nil
}

func (g *Generator) of(t reflect.Type) (map[string]any, error) {
	if written := g.Written[t]; written != nil {
		return g.of(written)
	}
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	}
	if t.Name() == "summary" {
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Slice:
		items, err := g.of(t.Elem())
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := g.of(t.Elem())
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		name := t.Name()
		if _, known := g.definitions[name]; !known {
			g.definitions[name] = nil // for a type that contains itself
			properties, required := map[string]any{}, []any{}
			if err := g.fields(t, properties, &required); err != nil {
				return nil, err
			}
			definition := map[string]any{"type": "object", "properties": properties}
			if len(required) > 0 {
				definition["required"] = required
			}
			g.definitions[name] = definition
		}
		return map[string]any{"$ref": "#/definitions/" + name}, nil
	default:
		return nil, fmt.Errorf("no schema for %s", t)
	}
}

// commentsOf returns the comments on a type's fields.
func (g *Generator) commentsOf(t reflect.Type) (map[string]string, error) {
	folder, ok := strings.CutPrefix(t.PkgPath(), Module)
	if !ok {
		return nil, nil
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if known, ok := g.comments[folder+"."+name]; ok {
		return known, nil
	}
	files := token.NewFileSet()
	packages, err := filepath.Glob(filepath.Join(g.Root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range packages {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				g.comments[folder+"."+spec.Name.Name] = commentsIn(of)
			}
			return false
		})
	}
	found, ok := g.comments[folder+"."+name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", t, fs.ErrNotExist)
	}
	return found, nil
}

// link matches a link in a comment, such as [time.Time].
var link = regexp.MustCompile(`\[([A-Za-z.*]+)\]`)

// commentsIn returns the comments on fields, in which readers of a document find the names that they
// know instead of those in Go.
func commentsIn(of *ast.StructType) map[string]string {
	found, known := map[string]string{}, map[string]string{}
	for _, f := range of.Fields.List {
		name, _, _ := strings.Cut(reflect.StructTag(tagOf(f)).Get("json"), ",")
		for _, ident := range f.Names {
			if name != "" {
				known[ident.Name] = name
			}
			text := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
			found[ident.Name] = link.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
		}
	}
	for field, text := range found {
		found[field] = renamed(text, known)
	}
	return found
}

// renamed replaces the names of fields in a text by those in a document. A word at the beginning of a
// sentence is such a name only if a verb in the singular follows, as in "Code is".
func renamed(text string, known map[string]string) string {
	var out strings.Builder
	end := 0
	for _, at := range identifier.FindAllStringIndex(text, -1) {
		name, ok := known[text[at[0]:at[1]]]
		begins := at[0] == 0 || strings.HasSuffix(text[:at[0]], ". ")
		if !ok || begins && !verb.MatchString(text[at[1]:]) {
			continue
		}
		out.WriteString(text[end:at[0]] + name)
		end = at[1]
	}
	return out.String() + text[end:]
}

var (
	// identifier matches an exported name.
	identifier = regexp.MustCompile(`\b[A-Z]\w*\b`)
	verb       = regexp.MustCompile(`^ (is|are|was|means|names|says|lists|counts|holds|contains|describes) `)
)

func tagOf(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	return strings.Trim(f.Tag.Value, "`")
}

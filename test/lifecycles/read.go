package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// lifecycles contains the lifecycles of one or all modules' kinds.
type lifecycles map[schema.GroupVersionKind]deprecation.Lifecycle

// eachVersion calls f for every folder in a module that contains the types of a group version.
func eachVersion(root string, f func(gv schema.GroupVersion, dir string) error) error {
	version := regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	group := regexp.MustCompile(`(?m)^const GroupName = "(.*)"$`)
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !version.MatchString(d.Name()) {
			return err
		}
		text, err := os.ReadFile(filepath.Join(path, "register.go"))
		if m := group.FindSubmatch(text); m != nil {
			return f(schema.GroupVersion{Group: string(m[1]), Version: d.Name()}, path)
		}
		return unlessAbsent(err)
	})
}

func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func isPrerelease(version string) bool {
	return strings.Contains(version, "alpha") || strings.Contains(version, "beta")
}

// read returns the lifecycles of a module's types, from the generated methods of
// prerelease-lifecycle-gen.
func read(root string) (lifecycles, error) {
	all := lifecycles{}
	method := regexp.MustCompile(`func \(in \*(\w+)\) APILifecycle(\w+)\(\).*\{\n\treturn (.*)\n\}`)
	value := regexp.MustCompile(`"[^"]*"|[0-9]+`)
	return all, eachVersion(root, func(gv schema.GroupVersion, dir string) error {
		path := filepath.Join(dir, "zz_generated.prerelease-lifecycle.go")
		text, err := os.ReadFile(path)
		methods := method.FindAllStringSubmatch(string(text), -1)
		if len(methods) < strings.Count(string(text), ") APILifecycle") {
			return fmt.Errorf("%s: a method has an unknown form", path)
		}
		for _, m := range methods {
			gvk := gv.WithKind(m[1])
			lc := all[gvk]
			if err := set(&lc, m[2], value.FindAllString(m[3], -1)); err != nil {
				return fmt.Errorf("%s: %s: %w", path, m[2], err)
			}
			all[gvk] = lc
		}
		return unlessAbsent(err)
	})
}

func set(lc *deprecation.Lifecycle, method string, values []string) error {
	if method == "Replacement" && len(values) == 3 {
		unquoted := func(i int) string { return strings.Trim(values[i], `"`) }
		lc.Replacement = schema.GroupVersionKind{Group: unquoted(0), Version: unquoted(1), Kind: unquoted(2)}
		return nil
	}
	to := map[string]*deprecation.Release{"Introduced": &lc.Introduced, "Deprecated": &lc.Deprecated, "Removed": &lc.Removed}[method]
	if to == nil {
		return fmt.Errorf("unknown method with the values %q", values)
	}
	release, err := deprecation.ParseRelease(strings.Join(values, "."))
	*to = release
	return err
}

// documented returns the fields of a module's stable types whose comments mention deprecation, as
// group/version Type.field.
func documented(root string) ([]string, error) {
	var found []string
	word := regexp.MustCompile(`(?i)\bdeprecated`)
	err := eachVersion(root, func(gv schema.GroupVersion, dir string) error {
		if isPrerelease(gv.Version) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "types.go"), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType {
				return true
			}
			if st, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, field := range st.Fields.List {
					if word.MatchString(field.Doc.Text() + field.Comment.Text()) {
						found = append(found, gv.String()+" "+spec.Name.Name+"."+jsonName(field))
					}
				}
			}
			return false
		})
		return nil
	})
	slices.Sort(found)
	return found, err
}

// jsonName returns the JSON name of a field.
func jsonName(field *ast.Field) string {
	if field.Tag != nil {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		if name, _, _ := strings.Cut(tag.Get("json"), ","); name != "" {
			return name
		}
	}
	return "(inline)"
}

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// lifecycles are those of the kinds of one or all modules.
type lifecycles map[schema.GroupVersionKind]deprecation.Lifecycle

// read returns the lifecycles of a module's types, from every folder with the name of an API
// version.
func read(root string) (lifecycles, error) {
	all := lifecycles{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !isVersion(d.Name()) {
			return err
		}
		p := pkg{dir: path, into: all}
		return p.read()
	})
	return all, err
}

func isVersion(name string) bool {
	return regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`).MatchString(name)
}

// pkg is the package of one group and version.
type pkg struct {
	dir  string
	gv   schema.GroupVersion
	into lifecycles
}

func (p *pkg) read() error {
	group, found, err := groupOf(p.dir)
	if err != nil || !found {
		return err
	}
	p.gv = schema.GroupVersion{Group: group, Version: filepath.Base(p.dir)}
	f, err := parse(filepath.Join(p.dir, "zz_generated.prerelease-lifecycle.go"), 0)
	if err == nil {
		return p.methods(f)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err = parse(filepath.Join(p.dir, "types.go"), parser.ParseComments)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.tags(f)
}

// groupOf reads the name of a package's group from its constant.
func groupOf(dir string) (group string, found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "register.go"))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	m := regexp.MustCompile(`(?m)^const GroupName = "(.*)"$`).FindSubmatch(text)
	if m == nil {
		return "", false, nil
	}
	return string(m[1]), true, nil
}

// methods reads the generated methods APILifecycle….
func (p *pkg) methods(f *ast.File) error {
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv == nil {
			continue
		}
		name, ok := strings.CutPrefix(fn.Name.Name, "APILifecycle")
		if !ok {
			continue
		}
		kind, err := receiver(fn)
		if err == nil {
			err = p.set(kind, name, returned(fn))
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", p.dir, fn.Name.Name, err)
		}
	}
	return nil
}

func receiver(fn *ast.FuncDecl) (string, error) {
	if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
		if id, ok := star.X.(*ast.Ident); ok {
			return id.Name, nil
		}
	}
	return "", errors.New("no receiver of the known form")
}

// returned returns the literals in a function's only statement.
func returned(fn *ast.FuncDecl) []string {
	var values []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			values = append(values, lit.Value)
		}
		return true
	})
	return values
}

func (p *pkg) set(kind, what string, values []string) error {
	gvk := p.gv.WithKind(kind)
	lc := p.into[gvk]
	switch what {
	case "Introduced", "Deprecated", "Removed":
		if len(values) != 2 {
			return fmt.Errorf("%d values instead of a major and a minor", len(values))
		}
		release, err := deprecation.ParseRelease(values[0] + "." + values[1])
		if err != nil {
			return err
		}
		*field(&lc, what) = release
	case "Replacement":
		if len(values) != 3 {
			return fmt.Errorf("%d values instead of group, version and kind", len(values))
		}
		for i, to := range []*string{&lc.Replacement.Group, &lc.Replacement.Version, &lc.Replacement.Kind} {
			text, err := strconv.Unquote(values[i])
			if err != nil {
				return err
			}
			*to = text
		}
	default:
		return errors.New("not known")
	}
	p.into[gvk] = lc
	return nil
}

func field(lc *deprecation.Lifecycle, what string) *deprecation.Release {
	switch what {
	case "Introduced":
		return &lc.Introduced
	case "Deprecated":
		return &lc.Deprecated
	}
	return &lc.Removed
}

func parse(path string, mode parser.Mode) (*ast.File, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return parser.ParseFile(token.NewFileSet(), path, nil, mode|parser.SkipObjectResolution)
}

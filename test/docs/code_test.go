package docs_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// code has the declarations of the project's Go files, without the tests.
type code struct {
	root string
	// packages by their folder, such as pkg/cluster/answer.
	packages map[string]*goPackage
	// folders are those of the packages, by the packages' names.
	folders map[string][]string
}

// goPackage is one package. Names are Func, Type, Type.Method and Type.Field; of
// constants and variables, their own.
type goPackage struct {
	folder, name string
	funcs        map[string]*ast.FuncDecl
	others       map[string]bool
	imports      map[string]bool // folders of ours
	effects      map[string]bool // what reaches out of the package, such as time.Now
	comments     []*ast.CommentGroup
	files        *token.FileSet
}

const module = "github.com/k8sconnect/kubectl-k8sconnect/"

// readCode parses what lies in pkg and cmd.
func readCode(root string) (*code, error) {
	c := &code{root: root, packages: map[string]*goPackage{}, folders: map[string][]string{}}
	for _, top := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			return c.add(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *code) add(path string) error {
	folder, err := filepath.Rel(c.root, filepath.Dir(path))
	if err != nil {
		return err
	}
	folder = filepath.ToSlash(folder)
	p := c.packages[folder]
	if p == nil {
		p = &goPackage{folder: folder, funcs: map[string]*ast.FuncDecl{}, others: map[string]bool{}, imports: map[string]bool{}, effects: map[string]bool{}, files: token.NewFileSet()}
		c.packages[folder] = p
	}
	file, err := parser.ParseFile(p.files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if p.name == "" {
		p.name = file.Name.Name
		c.folders[p.name] = append(c.folders[p.name], folder)
	}
	p.comments = append(p.comments, file.Comments...)
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if ours, ok := strings.CutPrefix(imported, module); ok {
			p.imports[ours] = true
		}
		for _, outside := range []string{"os", "net", "k8s.io/client-go", "k8s.io/cli-runtime"} {
			const parser = "k8s.io/client-go/util/jsonpath"
			if (imported == outside || strings.HasPrefix(imported, outside+"/")) && imported != "net/url" && imported != "net/netip" && imported != parser {
				p.effects[imported] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker"}, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
				p.effects["time."+s.Sel.Name] = true
			}
		}
		return true
	})
	for _, d := range file.Decls {
		p.declare(d)
	}
	return nil
}

func (p *goPackage) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		p.funcs[name] = d
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					p.others[name.Name] = true
				}
			case *ast.TypeSpec:
				p.others[s.Name.Name] = true
				for _, member := range members(s.Type) {
					p.others[s.Name.Name+"."+member] = true
				}
			}
		}
	}
}

// members are the fields of a struct, or the methods of an interface.
func members(t ast.Expr) []string {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	var out []string
	for _, f := range list.List {
		for _, name := range f.Names {
			out = append(out, name.Name)
		}
	}
	return out
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

// impurities are things that a package uses and that are neither passed to it nor its
// own: clients, files, the clock.
func (p *goPackage) impurities() []string { return slices.Sorted(maps.Keys(p.effects)) }

func (p *goPackage) has(name string) bool { return p.funcs[name] != nil || p.others[name] }

// named returns the package that a name such as predict.Predictor.Ask begins with, and
// the rest of it.
func (c *code) named(text string) (p *goPackage, rest string, err error) {
	name, rest, _ := strings.Cut(text, ".")
	switch folders := c.folders[name]; len(folders) {
	case 0:
		return nil, "", fmt.Errorf("%s: there is no package %s", text, name)
	case 1:
		return c.packages[folders[0]], rest, nil
	default:
		return nil, "", fmt.Errorf("%s: %s may be any of %v", text, name, folders)
	}
}

// check returns what is wrong with a name such as predict.Predictor.Ask.
func (c *code) check(text string) error {
	p, rest, err := c.named(text)
	if err != nil {
		return err
	}
	if !p.has(rest) {
		return fmt.Errorf("%s: %s declares no %s", text, p.folder, rest)
	}
	return nil
}

// exported reports whether some package declares the name.
func (c *code) exported(name string) bool {
	for _, p := range c.packages {
		if p.has(name) {
			return true
		}
	}
	return false
}

// calls returns where the function from mentions another one: sorted, and a call with
// a function literal among its arguments twice, where it begins and where it ends.
func (c *code) calls(from, to string) ([]token.Pos, error) {
	caller, name, err := c.named(from)
	if err != nil {
		return nil, err
	}
	callee, wanted, err := c.named(to)
	if err != nil {
		return nil, err
	}
	decl := caller.funcs[name]
	if decl == nil || decl.Body == nil {
		return nil, fmt.Errorf("%s: %s has no function %s", from, caller.folder, name)
	}
	if callee.funcs[wanted] == nil {
		return nil, fmt.Errorf("%s: %s has no function %s", to, callee.folder, wanted)
	}
	m := mention{local: caller == callee, callee: callee.name, name: wanted}
	if _, method, ok := strings.Cut(wanted, "."); ok {
		m.name, m.method = method, true
	}
	var at []token.Pos
	called := map[ast.Expr]bool{}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !m.is(n.Fun) {
				return true
			}
			called[n.Fun] = true
			at = append(at, n.Rparen)
			if slices.ContainsFunc(n.Args, func(arg ast.Expr) bool { _, ok := arg.(*ast.FuncLit); return ok }) {
				at = append(at, n.Lparen)
			}
		case *ast.SelectorExpr:
			if !called[n] && m.is(n) {
				at = append(at, n.Pos())
			}
		case *ast.Ident:
			if !called[n] && m.is(n) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	slices.Sort(at)
	return at, nil
}

// mention is how a function is spelt where it is used. The receiver of a method is
// unknown: it may be an interface.
type mention struct {
	local, method bool
	callee, name  string
}

func (m mention) is(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		x, plain := e.X.(*ast.Ident)
		return e.Sel.Name == m.name && (m.method || !m.local && plain && x.Name == m.callee)
	case *ast.Ident:
		return !m.method && m.local && e.Name == m.name
	default:
		return false
	}
}

// checkCalls returns what is wrong with a block of calls: each line is a function,
// indented under its caller, and in the order in which the caller calls it.
func (c *code) checkCalls(block string) error {
	type frame struct {
		name string
		last token.Pos // position of the call of its latest child
	}
	var stack []frame
	var faults []error
	for line := range strings.Lines(block) {
		name := strings.TrimSpace(line)
		if name == "" {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if err := c.check(name); err != nil {
			faults = append(faults, err)
		}
		if depth > len(stack) {
			return fmt.Errorf("%s is indented too far", name)
		}
		stack = stack[:depth]
		if depth > 0 {
			caller := &stack[depth-1]
			at, err := c.calls(caller.name, name)
			next := slices.IndexFunc(at, func(p token.Pos) bool { return p > caller.last })
			switch {
			case err != nil:
				faults = append(faults, err)
			case len(at) == 0:
				faults = append(faults, fmt.Errorf("%s does not call %s", caller.name, name))
			case next < 0:
				faults = append(faults, fmt.Errorf("%s calls %s earlier than the block says", caller.name, name))
			default:
				caller.last = at[next]
			}
		}
		stack = append(stack, frame{name: name})
	}
	return errors.Join(faults...)
}

var (
	inCode    = regexp.MustCompile("`([^`\n]+)`")
	fence     = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	word      = regexp.MustCompile(`^[a-z]+(?:/[a-z]+)?$`)
	path      = regexp.MustCompile(`^(?:pkg|cmd|test|charts|docs)/[\w./*-]+$`)
	dotted    = regexp.MustCompile(`^[a-z]\w*(?:\.[A-Za-z]\w*)+$`)
	capital   = regexp.MustCompile(`^[A-Z]\w*(?:\.[A-Z]\w*)?$`)
	inComment = regexp.MustCompile(`\[((?:[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\](?:[^(:]|$)`)
)

// checkPath returns what is wrong with a path of the project; VERB stands for any word.
func checkPath(root, text string) error {
	found, err := filepath.Glob(filepath.Join(root, strings.ReplaceAll(text, "VERB", "*")))
	if err == nil && len(found) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// checkNames returns what is wrong with the names and paths in a page: a name in
// backticks that begins with a package, one that begins with a capital, a lone word and a
// path. It also returns how many it has checked.
func (c *code) checkNames(page string) (checked int, err error) {
	var faults []error
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		if m[1] == "calls" {
			checked += strings.Count(m[2], "\n")
			faults = append(faults, c.checkCalls(m[2]))
		}
	}
	for _, m := range inCode.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		text := strings.TrimSuffix(m[1], "()")
		switch {
		case path.MatchString(text):
			faults = append(faults, checkPath(c.root, text))
		case strings.HasPrefix(text, "metadata.") || strings.HasPrefix(text, "spec.") || strings.HasPrefix(text, "status."):
			continue // a field path of an object
		case word.MatchString(text):
			faults = append(faults, c.checkWord(text))
		case dotted.MatchString(text):
			faults = append(faults, c.check(text))
		case capital.MatchString(text) && !c.exported(text):
			faults = append(faults, fmt.Errorf("%s: no package declares it", text))
		case !capital.MatchString(text):
			continue
		}
		checked++
	}
	return checked, errors.Join(faults...)
}

// checkWord returns what is wrong with a word in backticks: it has to be a package, by its
// name or its folder in pkg, or a verb.
func (c *code) checkWord(text string) error {
	_, isFolder := c.packages["pkg/"+text]
	_, isName := c.folders[text]
	_, isVerb := c.packages["pkg/cli"].funcs["new"+strings.ToUpper(text[:1])+text[1:]]
	_, hasRoom := c.packages["pkg/cli/"+text+"cmd"] // of the verb
	if isFolder || isName || isVerb || hasRoom {
		return nil
	}
	return fmt.Errorf("%s: there is no such package, and no such verb", text)
}

// checkLinks returns the links of comments that lead nowhere: [Name], [Type.Method] and
// [pkg.Name] of ours.
func (c *code) checkLinks() (checked int, err error) {
	var faults []error
	for _, p := range c.packages {
		for _, group := range p.comments {
			for _, m := range inComment.FindAllStringSubmatch(group.Text(), -1) {
				first, _, _ := strings.Cut(m[1], ".")
				_, ours := c.folders[first]
				var fault error
				switch {
				case ours:
					fault = c.check(m[1])
				case first != strings.ToLower(first) && !p.has(m[1]):
					fault = fmt.Errorf("[%s]: %s declares no such name", m[1], p.folder)
				}
				if fault != nil {
					faults = append(faults, fmt.Errorf("%s: %w", p.files.Position(group.Pos()), fault))
				}
				checked++
			}
		}
	}
	return checked, errors.Join(faults...)
}

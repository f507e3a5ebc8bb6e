package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

const tag = "+k8s:prerelease-lifecycle-gen:"

// grace is how many minors a version is served at least before it is deprecated, and again before
// it is removed, without tags that say so: the rule of prerelease-lifecycle-gen.
const grace = 3

// tags reads the comments from which the methods are generated, for a package without generated
// ones.
func (p *pkg) tags(f *ast.File) error {
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE || len(gen.Specs) != 1 {
			continue
		}
		kind := gen.Specs[0].(*ast.TypeSpec).Name.Name
		// A blank line may separate a tag from the type's documentation.
		for _, comments := range f.Comments {
			if comments.End() < gen.Pos() && comments.Pos() > before(f, gen) {
				if err := p.tagged(kind, comments); err != nil {
					return fmt.Errorf("%s: %s: %w", p.dir, kind, err)
				}
			}
		}
		p.derive(kind)
	}
	return nil
}

// before returns the end of the previous declaration.
func before(f *ast.File, decl ast.Decl) token.Pos {
	end := f.Name.End()
	for _, d := range f.Decls {
		if d == decl {
			break
		}
		end = d.End()
	}
	return end
}

func (p *pkg) tagged(kind string, comments *ast.CommentGroup) error {
	for _, c := range comments.List {
		_, text, ok := strings.Cut(c.Text, tag)
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		var err error
		switch name {
		case "introduced", "deprecated", "removed":
			err = p.set(kind, strings.ToUpper(name[:1])+name[1:], strings.SplitN(value, ".", 2))
		case "replacement":
			var quoted []string
			for part := range strings.SplitSeq(value, ",") {
				quoted = append(quoted, `"`+part+`"`)
			}
			err = p.set(kind, "Replacement", quoted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// derive completes missing tags of an alpha or beta.
func (p *pkg) derive(kind string) {
	gvk := p.gv.WithKind(kind)
	lc, ok := p.into[gvk]
	if !ok || !isPrerelease(gvk.Version) {
		return
	}
	if lc.Deprecated.IsZero() {
		lc.Deprecated = after(lc.Introduced)
	}
	if lc.Removed.IsZero() {
		lc.Removed = after(lc.Deprecated)
	}
	p.into[gvk] = lc
}

func after(r deprecation.Release) deprecation.Release {
	return deprecation.Release{Major: r.Major, Minor: r.Minor + grace}
}

func isPrerelease(version string) bool {
	return strings.Contains(version, "alpha") || strings.Contains(version, "beta")
}

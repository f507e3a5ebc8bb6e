package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Converted holds the rules converted from Applications and ApplicationSets.
type Converted struct {
	rules []*yaml.Node
	// Left lists the entries that no rule can express. Notes describes the rules whose meaning
	// differs from that of their entries.
	Left, Notes []string
}

// Path is a string or a list of strings.
type rule struct {
	Kind      string `yaml:"kind,omitempty"`
	Namespace string `yaml:"namespace,omitempty"`
	Name      string `yaml:"name,omitempty"`
	Manager   string `yaml:"manager,omitempty"`
	Path      any    `yaml:"path,omitempty"`
}

type ignored struct {
	Group        string      `yaml:"group"`
	Kind         string      `yaml:"kind"`
	Name         string      `yaml:"name"`
	Namespace    string      `yaml:"namespace"`
	JSONPointers []yaml.Node `yaml:"jsonPointers"`
	JQ           []yaml.Node `yaml:"jqPathExpressions"`
	Managers     []string    `yaml:"managedFieldsManagers"`
}

type application struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Ignored  []yaml.Node `yaml:"ignoreDifferences"`
		Template struct {
			Spec struct {
				Ignored []yaml.Node `yaml:"ignoreDifferences"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
	Items []yaml.Node `yaml:"items"`
}

// Convert converts the Applications and ApplicationSets in a file. It skips documents of other
// kinds.
func Convert(file string, data []byte) (*Converted, error) {
	c := &Converted{}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for found := false; ; {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF) && !found:
			return nil, fmt.Errorf("%s: contains no Application or ApplicationSet", file)
		case errors.Is(err, io.EOF):
			return c, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		read, err := c.read(file, &document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = found || read
	}
}

// read adds the rules of an application, or of those in a list. It reports whether it found one: a file
// without any is probably the wrong file.
func (c *Converted) read(file string, document *yaml.Node) (bool, error) {
	var kind struct {
		Kind string `yaml:"kind"`
	}
	if document.Decode(&kind) != nil {
		return false, nil
	}
	var app application
	switch kind.Kind {
	case "Application", "ApplicationSet", "List", "ApplicationList", "ApplicationSetList":
		if err := document.Decode(&app); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	found := app.Kind == "Application" || app.Kind == "ApplicationSet"
	for i := range app.Items {
		in, err := c.read(file, &app.Items[i])
		if err != nil {
			return false, err
		}
		found = found || in
	}
	all := app.Spec.Ignored
	if app.Kind == "ApplicationSet" {
		all = app.Spec.Template.Spec.Ignored
	}
	for i := range all {
		if err := c.add(file, &all[i]); err != nil {
			return false, err
		}
	}
	return found, nil
}

func (c *Converted) add(file string, item *yaml.Node) error {
	var of ignored
	if err := item.Decode(&of); err != nil {
		return err
	}
	intended := rule{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	if of.Group != "" && of.Group != "*" && of.Kind != "*" {
		intended.Kind += "." + of.Group
	}
	if of.Group != "" && of.Group != "*" && of.Kind == "*" {
		c.Left = append(c.Left, fmt.Sprintf("%s:%d: the entry covers all kinds in the group %s: list the kinds instead", file, item.Line, of.Group))
		return nil
	}
	intended.Kind = cmp.Or(intended.Kind, "*")
	var paths []string
	convert := func(nodes []yaml.Node, how func(string) (string, string, error)) {
		for i := range nodes {
			path, note, err := how(nodes[i].Value)
			switch at := fmt.Sprintf("%s:%d: %s", file, nodes[i].Line, nodes[i].Value); {
			case err != nil:
				c.Left = append(c.Left, at+": "+err.Error())
				continue
			case note != "":
				c.Notes = append(c.Notes, at+": "+note)
			}
			if !slices.Contains(paths, path) { // Positions become [*], so paths that differ only in a position become equal.
				paths = append(paths, path)
			}
		}
	}
	convert(of.JSONPointers, pointer)
	convert(of.JQ, jq)
	if len(paths) == 1 {
		intended.Path = paths[0]
		c.rule(file, item, intended)
	} else if len(paths) > 1 {
		intended.Path = paths
		c.rule(file, item, intended)
	}
	for _, manager := range of.Managers {
		intended.Path, intended.Manager = nil, manager
		c.rule(file, item, intended)
	}
	return nil
}

func (c *Converted) rule(file string, item *yaml.Node, r rule) {
	var node yaml.Node
	if node.Encode(r) != nil {
		return
	}
	node.Style = yaml.FlowStyle
	node.HeadComment = fmt.Sprintf("# %s:%d", file, item.Line)
	c.rules = append(c.rules, &node)
}

// Rules returns the number of rules.
func (c *Converted) Rules() int { return len(c.rules) }

// YAML returns the rules as the content of a file.
func (c *Converted) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(map[string][]*yaml.Node{"yield": c.rules})
	return out.Bytes(), errors.Join(err, encoder.Close())
}

const anyItem = "a position refers to a different item once the list changes, so the rule matches every item"

func pointer(text string) (path, note string, err error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", errors.New("not a JSON pointer")
	}
	var b strings.Builder
	for part := range strings.SplitSeq(rest, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if isPosition(part) {
			b.WriteString("[*]")
			note = anyItem
			continue
		}
		b.WriteString("[" + strconv.Quote(part) + "]")
	}
	return checked(b.String(), note)
}

func isPosition(part string) bool {
	_, err := strconv.ParseUint(part, 10, 16)
	return err == nil || part == "-"
}

// These patterns match the parts of jq expressions that are paths.
var (
	jqField    = regexp.MustCompile(`^\.([A-Za-z_][A-Za-z0-9_]*)`)
	jqQuoted   = regexp.MustCompile(`^\.?\[("(?:[^"\\]|\\.)*")\]|^\.("(?:[^"\\]|\\.)*")`)
	jqAny      = regexp.MustCompile(`^\.?\[\]\??`)
	jqPosition = regexp.MustCompile(`^\.?\[-?[0-9]+\]`)
	jqSelect   = regexp.MustCompile(`^\s*\|\s*select\(\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*==\s*("(?:[^"\\]|\\.)*")\s*\)`)
	jqPipe     = regexp.MustCompile(`^\s*\|\s*(?:\.|$)`)
)

var errNotPlain = errors.New("not a plain path: write the rule by hand, or name the manager that sets the field")

// jq converts a jq expression to a path, if it is a plain path.
func jq(text string) (path, note string, err error) {
	rest := strings.TrimSpace(text)
	for strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") && !strings.ContainsAny(rest[1:len(rest)-1], "()") {
		rest = strings.TrimSpace(rest[1 : len(rest)-1])
	}
	var b strings.Builder
	for rest != "" {
		if m := jqField.FindStringSubmatch(rest); m != nil {
			b.WriteString("[" + strconv.Quote(m[1]) + "]")
			rest = strings.TrimPrefix(rest[len(m[0]):], "?")
			continue
		}
		if m := jqQuoted.FindStringSubmatch(rest); m != nil {
			name, err := strconv.Unquote(m[1] + m[2])
			if err != nil {
				return "", "", errNotPlain
			}
			b.WriteString("[" + strconv.Quote(name) + "]")
			rest = strings.TrimPrefix(rest[len(m[0]):], "?")
			continue
		}
		if m := jqAny.FindString(rest); m != "" {
			rest = rest[len(m):]
			if s := jqSelect.FindStringSubmatch(rest); s != nil {
				value, err := strconv.Unquote(s[2])
				if err != nil {
					return "", "", errNotPlain
				}
				fmt.Fprintf(&b, "[%s=%s]", s[1], strconv.Quote(value))
				rest = rest[len(s[0]):]
				continue
			}
			b.WriteString("[*]")
			continue
		}
		if m := jqPosition.FindString(rest); m != "" {
			b.WriteString("[*]")
			note = anyItem
			rest = strings.TrimPrefix(rest[len(m):], "?")
			continue
		}
		if m := jqPipe.FindString(rest); m != "" && b.Len() > 0 && strings.HasSuffix(m, ".") {
			rest = rest[len(m)-1:]
			continue
		}
		return "", "", errNotPlain
	}
	return checked(b.String(), note)
}

func checked(text, note string) (string, string, error) {
	p, err := fieldpath.ParsePattern(text)
	if err != nil {
		return "", "", err
	}
	if len(p) == 0 {
		return "", "", errors.New("it selects the whole object")
	}
	return p.String(), note, nil
}

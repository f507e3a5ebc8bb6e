package yamldoc

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Positions come from a second parse with yaml/v3, which also reads JSON. Values never come from
// yaml/v3, because it reads YAML 1.2.

// nodes returns nil if yaml/v3 cannot parse the document.
func (d *Document) nodes() *yaml.Node {
	if d.tree == nil {
		d.tree = new(yaml.Node)
		if err := yaml.Unmarshal(d.Text, d.tree); err != nil {
			d.tree.Content = nil
		}
	}
	if len(d.tree.Content) == 0 {
		return nil
	}
	return d.tree.Content[0]
}

func (d *Document) sourceOfNode(n *yaml.Node) object.Source { return d.lineBelow(n.Line - 1) }

// SourceOf returns the place of the key or item at a path of keys and positions. If the document
// lacks the path, SourceOf returns the place of the closest existing ancestor.
func (d *Document) SourceOf(path []any) object.Source {
	source, n := d.Source(), d.nodes()
	for _, step := range path {
		key, value := child(n, step)
		if key == nil {
			break
		}
		source, n = d.sourceOfNode(key), value
	}
	return source
}

// child prefers a key as written, and then accepts one that YAML 1.1 reads as the boolean in the path.
func child(n *yaml.Node, step any) (name, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch s := step.(type) {
	case string:
		if n.Kind != yaml.MappingNode {
			return nil, nil
		}
		for _, exact := range []bool{true, false} {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if key := n.Content[i].Value; key == s || !exact && asBoolean(key) == s {
					return n.Content[i], n.Content[i+1]
				}
			}
		}
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s], n.Content[s]
		}
	}
	return nil, nil
}

// YAML 1.1 reads these keys as booleans.
func asBoolean(key string) string {
	switch strings.ToLower(key) {
	case "y", "yes", "on", "true":
		return "true"
	case "n", "no", "off", "false":
		return "false"
	}
	return key
}

func (d *Document) keyFaults() []error {
	top := d.nodes()
	if top == nil {
		return nil
	}
	if line := d.secondObject(top); line > 0 {
		source := d.Source()
		if source.Line > 0 {
			source.Line = line
		}
		return []error{At(source, "one document contains two objects", "put a line with only --- before this line")}
	}
	var faults []*object.FaultError
	for n := range d.allNodes() {
		if n.Kind == yaml.MappingNode {
			faults = append(faults, d.keyFaultsOf(n)...)
		}
	}
	return byLine(faults)
}

// secondObject returns the line of a second object in the document, or 0. Its separator is missing
// or shares a line with other text.
func (d *Document) secondObject(top *yaml.Node) int {
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 {
		return 0
	}
	seen := map[string]bool{}
	line, again := 0, 0
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		name, glued := strings.CutPrefix(key.Value, "---")
		switch {
		case name != "apiVersion" && name != "kind" && name != "metadata":
		case !seen[name]:
			seen[name] = true
			continue
		default:
			again++
		}
		if line == 0 && (glued || seen[name]) {
			line = d.sourceOfNode(key).Line
		}
	}
	if again < 2 {
		return 0
	}
	return line
}

func (d *Document) keyFaultsOf(mapping *yaml.Node) []*object.FaultError {
	var faults []*object.FaultError
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		written := mapping.Content[i]
		key := written
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		name := key.Value
		if key.Style == 0 { // YAML 1.1 reads some unquoted keys as booleans; yaml/v3 does not.
			name = asBoolean(name)
		}
		before := first[name]
		switch {
		case key.Kind != yaml.ScalarNode:
			faults = append(faults, At(d.sourceOfNode(written), "a mapping or a list as a key", "quote values that begin with { or ["))
		case key.Tag == "!!merge": // A merge key may be repeated.
		case before == nil:
			first[name] = written
		default:
			text, hint := "duplicate key "+strconv.Quote(key.Value), ""
			if d.Line > 0 {
				text += fmt.Sprintf(" (first at line %d)", d.sourceOfNode(before).Line)
			}
			if before.Value != key.Value {
				hint = fmt.Sprintf("quote both: unquoted, %s and %s are the key %s in YAML 1.1", before.Value, key.Value, name)
			}
			faults = append(faults, At(d.sourceOfNode(written), text, hint))
		}
	}
	return faults
}

// booleanKeys returns a fault for each unquoted key that YAML 1.1 reads as a boolean, so that another
// key is stored than the one that is written. The keys true and false are stored as they are written.
func (d *Document) booleanKeys() []error {
	var faults []*object.FaultError
	for n := range d.allNodes() {
		if n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if read := asBoolean(key.Value); key.Kind == yaml.ScalarNode && key.Style == 0 && read != key.Value {
				faults = append(faults, At(d.sourceOfNode(key), fmt.Sprintf("the key %s would be stored as %q", key.Value, read),
					fmt.Sprintf("quote it: unquoted, %s is %s in YAML 1.1", key.Value, read)))
			}
		}
	}
	return byLine(faults)
}

func byLine(faults []*object.FaultError) []error {
	slices.SortStableFunc(faults, func(a, b *object.FaultError) int { return cmp.Compare(a.Source.Line, b.Source.Line) })
	var all []error
	for _, f := range faults {
		all = append(all, f)
	}
	return all
}

func (d *Document) mergesKeys() bool {
	for n := range d.allNodes() {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && c.Tag == "!!merge" {
				return true
			}
		}
	}
	return false
}

// tagLine returns the line of the first value that does not match its tag, or 0. yaml/v2 does not
// report that line.
func (d *Document) tagLine() int {
	for n := range d.allNodes() {
		var value any
		if n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 && n.Decode(&value) != nil {
			return n.Line
		}
	}
	return 0
}

func (d *Document) allNodes() iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		var visit func(n *yaml.Node) bool
		visit = func(n *yaml.Node) bool {
			return yield(n) && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !visit(c) })
		}
		if top := d.nodes(); top != nil {
			visit(top)
		}
	}
}

// PathText formats a path of keys and positions for display, such as .spec.ports[0].name.
func PathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case string:
			if strings.ContainsAny(s, `./[]" `) {
				fmt.Fprintf(&b, "[%q]", s)
				continue
			}
			b.WriteString("." + s)
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		}
	}
	if b.Len() == 0 {
		return "the document"
	}
	return b.String()
}

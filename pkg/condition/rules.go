package condition

import (
	"bytes"
	_ "embed" // the shipped table
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The annotations of a CRD that define when its objects are ready or have failed, and how to say
// what they lack.
const (
	ReadyAnnotation   = "k8sconnect.io/ready"
	FailedAnnotation  = "k8sconnect.io/failed"
	MessageAnnotation = "k8sconnect.io/message"
)

//go:embed kinds.yaml
var shipped []byte

const fromTable = "the table of kinds that is part of this program"

// Formula is CEL over self, the object, with its place.
type Formula struct {
	Text string
	// Source is a file or an annotation; Line is zero without a line.
	Source string
	Line   int
}

// Rule defines when objects of a kind are ready, in CEL. The conventions replace empty formulas.
type Rule struct {
	Group, Kind            string
	Ready, Failed, Message Formula
	// From is its source.
	From string
}

// IsZero reports whether the rule says nothing.
func (r Rule) IsZero() bool {
	return r.Ready.Text == "" && r.Failed.Text == "" && r.Message.Text == ""
}

// Names reports whether a formula of the rule contains a word, such as the type of a condition.
func (r Rule) Names(word string) bool {
	return strings.Contains(r.Ready.Text+r.Failed.Text, word)
}

// Shipped reports whether the rule is from the shipped table.
func (r Rule) Shipped() bool { return r.From == fromTable }

// Exists reports whether the rule is a shipped one that requires only that the object exists and
// that nothing in its status is wrong.
func (r Rule) Exists() bool { return r.From == fromTable && r.Ready.Text == "true" }

// Error is a fault in a formula of a file or annotation.
type Error struct {
	Source string
	Line   int
	Err    error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Source, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func readTable(source, from string, data []byte) (map[schema.GroupKind]Rule, error) {
	var document, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, &Error{Source: source, Err: err}
	}
	if err := documents.Decode(&second); err == nil {
		return nil, &Error{Source: source, Line: second.Line, Err: errors.New("it has to be one document; put all kinds into one list")}
	} else if !errors.Is(err, io.EOF) {
		return nil, &Error{Source: source, Err: err}
	}
	if len(document.Content) == 0 {
		return nil, &Error{Source: source, Err: errors.New("it is empty; it has to have a list named kinds")}
	}
	root := document.Content[0]
	table := map[schema.GroupKind]Rule{}
	if root.Kind != yaml.MappingNode || len(root.Content) != 2 || root.Content[0].Value != "kinds" || root.Content[1].Kind != yaml.SequenceNode {
		return nil, &Error{Source: source, Line: root.Line, Err: errors.New("it has to have a list named kinds, and nothing else")}
	}
	var faults []error
	for _, item := range root.Content[1].Content {
		rule, err := readRule(source, from, item)
		gk := schema.GroupKind{Group: rule.Group, Kind: rule.Kind}
		if _, twice := table[gk]; twice && err == nil {
			err = &Error{Source: source, Line: item.Line, Err: fmt.Errorf("%s is there twice", gk)}
		}
		faults = append(faults, err)
		table[gk] = rule
	}
	return table, errors.Join(faults...)
}

func readRule(source, from string, item *yaml.Node) (Rule, error) {
	rule := Rule{From: from}
	if item.Kind != yaml.MappingNode {
		return rule, &Error{Source: source, Line: item.Line, Err: errors.New("it has to have kind, group and ready or failed")}
	}
	var faults []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, value := item.Content[i], item.Content[i+1]
		formula := Formula{Text: value.Value, Source: source, Line: value.Line}
		if value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			formula.Line++
		}
		if value.Kind != yaml.ScalarNode {
			faults = append(faults, &Error{Source: source, Line: value.Line, Err: fmt.Errorf("%s has to be a text", key.Value)})
			continue
		}
		if seen[key.Value] {
			faults = append(faults, &Error{Source: source, Line: key.Line, Err: fmt.Errorf("%s is there twice", key.Value)})
		}
		seen[key.Value] = true
		switch key.Value {
		case "group":
			rule.Group = value.Value
		case "kind":
			rule.Kind = value.Value
		case "ready":
			rule.Ready = formula
		case "failed":
			rule.Failed = formula
		case "message":
			rule.Message = formula
		default:
			faults = append(faults, &Error{Source: source, Line: key.Line, Err: fmt.Errorf("there is no field %s; there are: group, kind, ready, failed, message", key.Value)})
		}
	}
	if rule.Kind == "" || rule.Ready.Text == "" && rule.Failed.Text == "" {
		faults = append(faults, &Error{Source: source, Line: item.Line, Err: errors.New("it has to have a kind, and ready or failed")})
	}
	return rule, errors.Join(faults...)
}

// Shipped returns the rule of a kind in the shipped table.
func Shipped(gk schema.GroupKind) (Rule, bool) {
	if !bytes.Contains(shipped, []byte("kind: "+gk.Kind)) {
		return Rule{}, false // The case of most kinds, without decoding the table.
	}
	rule, found := shippedTable()[gk]
	return rule, found
}

// ShippedKinds returns the kinds of that table.
func ShippedKinds() []schema.GroupKind {
	var all []schema.GroupKind
	for gk := range shippedTable() {
		all = append(all, gk)
	}
	return all
}

func shippedTable() map[schema.GroupKind]Rule {
	table, err := readTable("kinds.yaml", fromTable, shipped)
	if err != nil {
		return nil // A test decodes it.
	}
	return table
}

// Set holds the rules of kinds: from the user's files, the annotations of CRDs and the shipped
// table, in this order. It is safe for concurrent use. A nil *Set has the table alone.
type Set struct {
	mu             sync.Mutex
	given, learned map[schema.GroupKind]Rule
}

// Read parses a user's table without compiling its formulas.
func Read(source string, data []byte) (*Set, error) {
	table, err := readTable(source, "the file "+source, data)
	if err != nil {
		return nil, err
	}
	return &Set{given: table}, nil
}

// Kinds returns the kinds of the user's file.
func (r *Set) Kinds() []schema.GroupKind { return slices.Collect(maps.Keys(r.given)) }

// Of returns the rule of a kind.
func (r *Set) Of(gk schema.GroupKind) (Rule, bool) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, table := range []map[schema.GroupKind]Rule{r.given, r.learned} {
			if rule, found := table[gk]; found {
				return rule, true
			}
		}
	}
	return Shipped(gk)
}

// Learn adds the rule in the annotations of a kind's CRD.
func (r *Set) Learn(gk schema.GroupKind, definition string, annotations map[string]string) {
	formula := func(name string) Formula {
		return Formula{Text: annotations[name], Source: "customresourcedefinition " + definition + ", annotation " + name}
	}
	rule := Rule{
		Group: gk.Group, Kind: gk.Kind, From: "annotations of customresourcedefinition " + definition,
		Ready: formula(ReadyAnnotation), Failed: formula(FailedAnnotation), Message: formula(MessageAnnotation),
	}
	if rule.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.learned == nil {
		r.learned = map[schema.GroupKind]Rule{}
	}
	r.learned[gk] = rule
}

package condition

import (
	"bytes"
	_ "embed" // the built-in table
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

// ReadyAnnotation, FailedAnnotation and MessageAnnotation are annotations with which the author of
// a CRD defines when an object is ready, when it has failed, and which message to show until it is
// ready.
const (
	ReadyAnnotation   = "k8sconnect.io/ready"
	FailedAnnotation  = "k8sconnect.io/failed"
	MessageAnnotation = "k8sconnect.io/message"
)

//go:embed kinds.yaml
var shipped []byte

const fromTable = "the built-in table of kinds"

// Formula is a CEL expression over self, and the place where it is written.
type Formula struct {
	Text string
	// Source is a file or an annotation. Line is zero for an annotation.
	Source string
	Line   int
}

// Rule defines when objects of a kind are ready. Where a formula is empty, the conventions apply.
type Rule struct {
	Group, Kind            string
	Ready, Failed, Message Formula
	From                   string
}

// IsZero reports whether all formulas are empty.
func (r Rule) IsZero() bool {
	return r.Ready.Text == "" && r.Failed.Text == "" && r.Message.Text == ""
}

// Names reports whether the rule mentions a word, such as a condition's type.
func (r Rule) Names(word string) bool {
	return strings.Contains(r.Ready.Text+r.Failed.Text, word)
}

// Shipped reports whether the rule is from the built-in table.
func (r Rule) Shipped() bool { return r.From == fromTable }

// Exists reports whether a rule is from the built-in table and requires only that the object exists
// and has no fault.
func (r Rule) Exists() bool { return r.From == fromTable && r.Ready.Text == "true" }

// Error is an error in a formula.
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
		return nil, &Error{Source: source, Line: second.Line, Err: errors.New("it must be a single document; put all kinds into one list")}
	} else if !errors.Is(err, io.EOF) {
		return nil, &Error{Source: source, Err: err}
	}
	if len(document.Content) == 0 {
		return nil, &Error{Source: source, Err: errors.New("it is empty; it must contain a list named kinds")}
	}
	root := document.Content[0]
	table := map[schema.GroupKind]Rule{}
	if root.Kind != yaml.MappingNode || len(root.Content) != 2 || root.Content[0].Value != "kinds" || root.Content[1].Kind != yaml.SequenceNode {
		return nil, &Error{Source: source, Line: root.Line, Err: errors.New("it must contain a list named kinds and nothing else")}
	}
	var faults []error
	for _, item := range root.Content[1].Content {
		rule, err := readRule(source, from, item)
		gk := schema.GroupKind{Group: rule.Group, Kind: rule.Kind}
		if _, twice := table[gk]; twice && err == nil {
			err = &Error{Source: source, Line: item.Line, Err: fmt.Errorf("%s appears twice", gk)}
		}
		faults = append(faults, err)
		table[gk] = rule
	}
	return table, errors.Join(faults...)
}

func readRule(source, from string, item *yaml.Node) (Rule, error) {
	rule := Rule{From: from}
	if item.Kind != yaml.MappingNode {
		return rule, &Error{Source: source, Line: item.Line, Err: errors.New("it must set kind, group, and ready or failed")}
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
			faults = append(faults, &Error{Source: source, Line: value.Line, Err: fmt.Errorf("%s must be a string", key.Value)})
			continue
		}
		if seen[key.Value] {
			faults = append(faults, &Error{Source: source, Line: key.Line, Err: fmt.Errorf("%s appears twice", key.Value)})
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
			faults = append(faults, &Error{Source: source, Line: key.Line, Err: fmt.Errorf("unknown field %s; the fields are group, kind, ready, failed and message", key.Value)})
		}
	}
	if rule.Kind == "" || rule.Ready.Text == "" && rule.Failed.Text == "" {
		faults = append(faults, &Error{Source: source, Line: item.Line, Err: errors.New("it must set kind, and ready or failed")})
	}
	return rule, errors.Join(faults...)
}

// Shipped returns a kind's rule from the built-in table.
func Shipped(gk schema.GroupKind) (Rule, bool) {
	if !bytes.Contains(shipped, []byte("kind: "+gk.Kind)) {
		return Rule{}, false // Do not decode the table for most kinds.
	}
	rule, found := shippedTable()[gk]
	return rule, found
}

// ShippedKinds returns the kinds in the built-in table.
func ShippedKinds() []schema.GroupKind {
	return slices.Collect(maps.Keys(shippedTable()))
}

func shippedTable() map[schema.GroupKind]Rule {
	table, err := readTable("kinds.yaml", fromTable, shipped)
	if err != nil {
		return nil // A test ensures that it is valid.
	}
	return table
}

// Set contains rules. The user's file takes precedence over the annotations of CRDs, and these over
// the built-in table. It is safe for concurrent use. A nil *Set holds only the built-in table.
type Set struct {
	mu             sync.Mutex
	given, learned map[schema.GroupKind]Rule
}

// Read parses a user's table. It does not compile the formulas.
func Read(source string, data []byte) (*Set, error) {
	table, err := readTable(source, "the file "+source, data)
	if err != nil {
		return nil, err
	}
	return &Set{given: table}, nil
}

// Kinds returns the kinds in the user's file.
func (r *Set) Kinds() []schema.GroupKind { return slices.Collect(maps.Keys(r.given)) }

// Of returns the rule for a kind.
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

// Learn adds the rule that the annotations of a kind's CRD define.
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

package printer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// applyResult is the document of an apply.
type applyResult struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Run        string          `json:"run"`
	DryRun     bool            `json:"dryRun,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"`  // of the run as a whole
	LeftOut    []*fault        `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry     `json:"helmHooks,omitempty"` // of the input, left out
	Objects    []appliedObject `json:"objects"`
	Summary    summary         `json:"summary"`
}

// diffResult is the document of a diff.
type diffResult struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Run        string           `json:"run,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
	LeftOut    []*fault         `json:"leftOut,omitempty"`   // of the input, with --skip-invalid
	HelmHooks  []hookEntry      `json:"helmHooks,omitempty"` // of the input, left out
	Objects    []comparedObject `json:"objects"`
	Summary    summary          `json:"summary"`
}

// applyDocument gathers all results of an apply and writes them at the end.
type applyDocument struct {
	base
	objects  planOrdered[keyed[appliedObject]]
	waited   map[object.Key]*waitEntry
	warnings warnings
}

// diffDocument gathers all results of a diff and writes them at the end.
type diffDocument struct {
	base
	objects  planOrdered[keyed[comparedObject]]
	warnings warnings
}

// keyed is a result with the identity by which warnings find it.
type keyed[T any] struct {
	ref   object.Ref
	value T
}

func newApplyDocument(b base) *applyDocument {
	return &applyDocument{base: b, waited: map[object.Key]*waitEntry{}, warnings: warnings{}}
}

func newDiffDocument(b base) *diffDocument {
	return &diffDocument{base: b, warnings: warnings{}}
}

func (d *applyDocument) take(e event.Event) {
	switch e := e.(type) {
	case event.Applied:
		d.objects.add(d.progress.place(e.Ref), keyed[appliedObject]{e.Ref, appliedOf(e)})
	case event.Waited:
		d.waited[e.Ref.Key()] = waitEntryOf(e)
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *diffDocument) take(e event.Event) {
	switch e := e.(type) {
	case event.Compared:
		d.objects.add(d.progress.place(e.Ref), keyed[comparedObject]{e.Ref, comparedOf(e)})
	case event.Warned:
		d.warnings.add(e)
	}
}

func (d *applyDocument) flush() {}

func (d *diffDocument) flush() {}

func (d *applyDocument) finish(context.Context) error {
	result := applyResult{
		APIVersion: apiVersion,
		Kind:       "ApplyResult",
		Run:        d.Run,
		DryRun:     d.DryRun,
		Objects:    []appliedObject{},
		Summary:    summary{actions: applyActions(), tally: d.progress.tally},
	}
	for _, o := range d.objects.drain() {
		o.value.Warnings, o.value.Wait = d.warnings.of(o.ref), d.waited[o.ref.Key()]
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.progress.leftOut)
	result.HelmHooks = hooksOf(d.progress.hooks)
	if d.Format == JUnit {
		return d.junit(applySuite(result, d.inFlags()))
	}
	return d.document(result)
}

func (d *diffDocument) finish(context.Context) error {
	result := diffResult{
		APIVersion: apiVersion,
		Kind:       "DiffResult",
		Run:        d.Run,
		Objects:    []comparedObject{},
		Summary:    summary{actions: diffActions(), tally: d.progress.tally},
	}
	for _, o := range d.objects.drain() {
		o.value.Warnings = d.warnings.of(o.ref)
		result.Objects = append(result.Objects, o.value)
	}
	result.Warnings, result.LeftOut = d.warnings.rest(), faultsOf(d.progress.leftOut)
	result.HelmHooks = hooksOf(d.progress.hooks)
	if d.Format == JUnit {
		return d.junit(diffSuite(result))
	}
	return d.document(result)
}

// document writes a value as JSON, YAML or KYAML.
func (b base) document(v any) error {
	write := func(v any) ([]byte, error) { return encode(v, "  ") }
	switch b.Format {
	case YAML:
		write = encodeYAML
	case KYAML:
		write = encodeKYAML
	}
	text, err := write(v)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	b.screen.result(string(text))
	return nil
}

// encode returns the JSON of a value and a line break. It is plain text for a
// terminal too: what is not printable is escaped, as JSON allows.
func encode(v any, indent string) ([]byte, error) {
	text, err := rawJSON(v, indent)
	if err != nil {
		return nil, err
	}
	return escapeQuoted(text, func(b []byte, r rune) []byte {
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
		return b
	}), nil
}

// rawJSON returns the JSON of a value, with whatever characters it holds.
func rawJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// escapeQuoted spells out what is not printable in a text that has it between double
// quotes only.
func escapeQuoted(text []byte, spell func([]byte, rune) []byte) []byte {
	plain := func(r rune) bool { return r == '\n' || strconv.IsPrint(r) }
	if !bytes.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	var escaped []byte
	for _, r := range string(text) {
		if plain(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		escaped = spell(escaped, r)
	}
	return escaped
}

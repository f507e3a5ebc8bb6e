package table

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// unownable is shown for an object's identity and for fields that the API server manages, because
// these have no owner.
const unownable = "-"

// ownersTable prints each object as YAML, with the owners of each field in front of it.
type ownersTable struct {
	output.Base
	texts  []string
	places map[object.Key]int
	// hues contains the colours of managers, in order of appearance.
	hues map[string]int
}

// NewOwners returns the table of owners.
func NewOwners(b output.Base) output.Results {
	return &ownersTable{Base: b, hues: map[string]int{}, places: map[object.Key]int{}}
}

func (t *ownersTable) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Owned:
		t.places[e.Ref.Key()] = len(t.texts)
		t.texts = append(t.texts, t.object(e))
	case event.Runs:
		if place, shown := t.places[e.Ref.Key()]; shown {
			var b strings.Builder
			format.Below(&b, imageLines(t.Base, e.Images), "", t.Width)
			t.texts[place] += "\n" + b.String()
		}
	}
}

func (t *ownersTable) Finish(context.Context) error {
	t.Screen.Result(strings.Join(t.texts, "\n"))
	return nil
}

func (t *ownersTable) object(o event.Owned) string {
	var b strings.Builder
	b.WriteString(t.Paint.Bold.Sprint(format.Name(o.Ref)) + "\n")
	if len(o.Deletions) > 0 {
		for _, d := range o.Deletions {
			format.Below(&b, format.DeletionLines(d), "  ", t.Width)
		}
		return b.String()
	}
	for _, remark := range ownedRemarks(o) {
		b.WriteString(remark + "\n")
	}
	t.shares(&b, o)
	t.lay(&b, o, fieldTree{format.YAMLLines{Fold: !t.Verbose}}.lines(o.Fields))
	if len(o.Absent) > 0 {
		b.WriteString("\nowned fields that the object does not have:\n")
		absent := make([]yamlLine, len(o.Absent))
		for i, n := range o.Absent {
			absent[i] = yamlLine{text: text.Printable(n.Path.String()), owners: n.Owners}
		}
		t.lay(&b, o, absent)
	}
	if o.History != nil {
		b.WriteString("\n" + t.history(*o.History))
	}
	return b.String()
}

func (t *ownersTable) shares(b *strings.Builder, o event.Owned) {
	if len(o.Path) > 0 || len(o.Holdings) == 0 {
		return
	}
	const figures = "  12345 fields"
	version, columns := o.Ref.GVK.GroupVersion().String(), format.Within(t.Width, figures+format.Indent)
	names, column, digits := make([]ownerCell, len(o.Holdings)), 0, 0
	for i, s := range o.Holdings {
		names[i] = ownerCell{text: format.NoOwner, faint: true}
		if s.Owner != (managedfields.Owner{}) {
			names[i] = ownerCell{text: format.OwnerWithin(atVersion(s.Owner, version), t.Now(), columns), manager: s.Owner.Manager}
		}
		column, digits = max(column, format.Cells(names[i].text)), max(digits, len(strconv.Itoa(s.Fields)))
	}
	for i, s := range o.Holdings {
		blanks := strings.Repeat(" ", digits-len(strconv.Itoa(s.Fields)))
		b.WriteString(format.Indent + t.colour(names[i:i+1], column) + "  " + blanks + text.Count(s.Fields, "field") + "\n")
	}
	if o.StatusHidden {
		b.WriteString("  " + t.Paint.Faint.Sprint("the status is left out; --status shows it") + "\n")
	}
	b.WriteString("\n")
}

func ownedRemarks(o event.Owned) []string {
	var remarks []string
	if o.Unmanaged {
		remarks = append(remarks, "it has no managed fields: the owners of its fields are unknown")
	}
	if len(o.Fields) > 0 && len(o.Fields[0].Path) < len(o.Path) {
		remarks = append(remarks, text.Printable(fmt.Sprintf("%s is a part of %s, which is owned as a whole", o.Path, o.Fields[0].Path)))
	}
	return remarks
}

func (t *ownersTable) lay(b *strings.Builder, o event.Owned, lines []yamlLine) {
	width := format.Columns(t.Width)
	most := mostOwner(width)
	column := 0
	before := make([][][]ownerCell, len(lines))
	for i, line := range lines {
		before[i] = together(t.owners(line, o.Ref.GVK.GroupVersion().String(), width), most)
		for _, row := range before[i] {
			column = max(column, cellsOf(row))
		}
	}
	for i, line := range lines {
		for n, row := range before[i] {
			text := ""
			if n == 0 {
				text = line.within(max(0, width-column-len(ownerGap)))
			}
			b.WriteString(strings.TrimRight(t.colour(row, column)+ownerGap+text, " ") + "\n")
		}
	}
}

const ownerGap = "  "

// mostOwner returns the maximum width of the owners in a line.
func mostOwner(width int) int {
	const most, least = 60, 16
	if width <= 0 {
		return most
	}
	return min(most, max(least, width*9/20))
}

type ownerCell struct {
	text, manager string
	faint         bool
}

func (t *ownersTable) owners(line yamlLine, version string, width int) []ownerCell {
	most := 0
	if width > 0 {
		most = mostOwner(width) - len(",")
	}
	switch {
	case line.part:
		return []ownerCell{{}}
	case line.unownable:
		return []ownerCell{{text: unownable, faint: true}}
	case len(line.owners) == 0:
		return []ownerCell{{text: format.NoOwner, faint: true}}
	}
	out := make([]ownerCell, len(line.owners))
	for i, o := range line.owners {
		out[i] = ownerCell{text: format.OwnerWithin(atVersion(o, version), t.Now(), most), manager: o.Manager}
	}
	return out
}

// atVersion adds the API version to an owner if it differs from the object's, because the owner's
// paths belong to that version.
func atVersion(o managedfields.Owner, version string) managedfields.Owner {
	switch {
	case o.APIVersion == "", o.APIVersion == version:
	case o.Subresource != "":
		o.Subresource += " at " + o.APIVersion
	default:
		o.Operation += " at " + o.APIVersion
	}
	return o
}

func atVersions(owners []managedfields.Owner, version string) []managedfields.Owner {
	out := make([]managedfields.Owner, len(owners))
	for i, o := range owners {
		out[i] = atVersion(o, version)
	}
	return out
}

func together(all []ownerCell, most int) [][]ownerCell {
	var rows [][]ownerCell
	for i, c := range all {
		if i < len(all)-1 {
			c.text += ","
		}
		last := len(rows) - 1
		if i > 0 && cellsOf(rows[last])+len(" ")+format.Cells(c.text) <= most {
			rows[last] = append(rows[last], c)
			continue
		}
		rows = append(rows, []ownerCell{c})
	}
	return rows
}

func cellsOf(row []ownerCell) int {
	n := len(row) - 1 // blanks
	for _, c := range row {
		n += format.Cells(c.text)
	}
	return n
}

func (t *ownersTable) colour(row []ownerCell, column int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString(" ")
		}
		switch {
		case c.faint:
			b.WriteString(t.Paint.Faint.Sprint(c.text))
		case c.manager != "":
			b.WriteString(t.Paint.Hue(t.hue(c.manager)).Sprint(c.text))
		default:
			b.WriteString(c.text)
		}
	}
	return b.String() + strings.Repeat(" ", max(0, column-cellsOf(row)))
}

func (t *ownersTable) hue(manager string) int {
	if _, known := t.hues[manager]; !known {
		t.hues[manager] = len(t.hues)
	}
	return t.hues[manager]
}

type yamlLine struct {
	text   string
	owners []managedfields.Owner
	// part is set if the line continues the value above it, or contains only the key of a map or
	// list without owners.
	part      bool
	unownable bool
}

// within fits the line into a width; 0 means no limit. It shortens the middle of the value first.
func (l yamlLine) within(width int) string {
	text := strings.ReplaceAll(l.text, "\t", "    ")
	if width == 0 || format.Cells(text) <= width {
		return text
	}
	before := text[:len(text)-len(strings.TrimLeft(text, " -"))]
	key, value := "", text[len(before):]
	if i := strings.Index(value, ": "); i >= 0 {
		key, value = value[:i+len(": ")], value[i+len(": "):]
	}
	if columns := width - format.Cells(before+key); columns >= format.LeastValue {
		return before + key + format.CutMiddle(value, columns)
	}
	value = format.CutMiddle(value, format.LeastValue)
	if columns := width - format.Cells(before) - len(": ") - format.Cells(value); columns >= format.LeastValue && key != "" {
		return before + format.CutMiddle(strings.TrimSuffix(key, ": "), columns) + ": " + value
	}
	return format.Cut(text, max(width, format.LeastValue))
}

type fieldTree struct{ format.YAMLLines }

func (y fieldTree) lines(nodes []managedfields.Node) []yamlLine {
	var out []yamlLine
	for _, n := range nodes {
		if name, ok := n.FieldName(); ok {
			out = append(out, y.field(name, n)...)
		} else {
			out = append(out, y.item(n)...)
		}
	}
	return out
}

func (y fieldTree) field(name string, n managedfields.Node) []yamlLine {
	key := format.Scalar(name) + ":"
	if len(n.Below) == 0 {
		if last, ok := n.Value.(string); ok && y.Fold && last != format.Masked && name == managedfields.LastAppliedAnnotation {
			n.Value = "(" + text.Count(len(last), "byte") + ")" // it repeats the whole object
		}
		return owned(n, y.Value(key, n.Value, true))
	}
	head := yamlLine{text: key, owners: n.Owners, part: len(n.Owners) == 0}
	below := y.lines(n.Below)
	if _, ok := n.Below[0].FieldName(); ok { // As in kubectl, lists are not indented below their key.
		below = deeper(below)
	}
	return append([]yamlLine{head}, below...)
}

func (y fieldTree) item(n managedfields.Node) []yamlLine {
	if len(n.Below) == 0 {
		return owned(n, y.Value("-", n.Value, false))
	}
	below := deeper(y.lines(n.Below))
	first := &below[0]
	if len(n.Owners) > 0 && !slices.Equal(n.Owners, first.owners) {
		return append([]yamlLine{{text: "-", owners: n.Owners}}, below...)
	}
	first.text = "- " + strings.TrimPrefix(first.text, format.Indent)
	return below
}

func deeper(lines []yamlLine) []yamlLine {
	for i, line := range lines {
		if line.text != "" {
			lines[i].text = format.Indent + line.text
		}
	}
	return lines
}

func owned(n managedfields.Node, text []string) []yamlLine {
	out := make([]yamlLine, len(text))
	for i, line := range text {
		out[i] = yamlLine{text: line, part: i > 0}
	}
	out[0].owners, out[0].unownable = n.Owners, !n.Ownable()
	return out
}

// NewCommented returns the objects of the "owners" verb as YAML documents, with owners and history
// as comments.
func NewCommented(b output.Base) output.Results {
	return output.Together(func(objects []event.Owned) error {
		texts := make([]string, len(objects))
		for i, o := range objects {
			texts[i] = commentedYAML(o, b.Now)
		}
		b.Screen.Result(strings.Join(texts, "---\n"))
		return nil
	})
}

func commentedYAML(o event.Owned, now func() time.Time) string {
	var b strings.Builder
	comment := func(lines ...string) {
		for _, line := range lines {
			b.WriteString("# " + line + "\n")
		}
	}
	version := o.Ref.GVK.GroupVersion().String()
	comment(format.Name(o.Ref))
	comment(ownedRemarks(o)...)
	for _, d := range o.Deletions {
		comment(format.DeletionLines(d)...)
	}
	for _, line := range (fieldTree{}).lines(o.Fields) {
		b.WriteString(commented(line, version, now()) + "\n")
	}
	for _, n := range o.Absent {
		comment(fmt.Sprintf("owned, but not there: %s  %s", text.Printable(n.Path.String()), format.OwnerList(atVersions(n.Owners, version), now())))
	}
	if o.History != nil {
		plain := &ownersTable{Base: output.Base{Options: output.Options{Now: now}, Paint: output.NewPalette(false)}}
		comment(format.Lines(plain.history(*o.History))...)
	}
	return b.String()
}

func commented(line yamlLine, version string, now time.Time) string {
	switch {
	case line.part, line.unownable:
		return line.text
	case len(line.owners) == 0:
		return line.text + "  # " + format.NoOwner
	default:
		return line.text + "  # " + format.OwnerList(atVersions(line.owners, version), now)
	}
}

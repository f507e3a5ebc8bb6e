package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const widestColumn = 60

// report writes every conflict of the run, followed by the ways to settle them. opening says how
// far the run got.
func report(base output.Base, b *strings.Builder, conflicts []event.Applied, opening string) {
	width := format.Columns(base.Width)
	for i, a := range conflicts {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(base.Paint.Action(a.Action, string(a.Action)) + "  " + format.Name(a.Ref) + "\n")
		shown := a.Conflicts
		if len(shown) > 2*manyPaths && !base.Verbose {
			shown = shown[:2*manyPaths]
		}
		small, large := splitLarge(shown)
		for _, row := range append(conflictRows(small, base.Now(), width), largeRows(base, large, width)...) {
			b.WriteString("  " + row + "\n")
		}
		if more := len(a.Conflicts) - len(shown); more > 0 {
			b.WriteString("  and " + text.Count(more, "more path") + "\n")
		}
		format.Below(b, base.Hints.ErrorLines(a.Err, width), "  ", base.Width)
		for _, detail := range details(base, a, format.Within(base.Width, "  ")) {
			b.WriteString("  " + detail + "\n")
		}
	}
	b.WriteString("\n")
	for _, line := range resolutions(conflicts, opening, base.State.InFlags()) {
		b.WriteString(line + "\n")
	}
}

type row struct {
	path, yours, live string
	owners            []string
}

func (r row) owner() string { return strings.Join(r.owners, ", ") }

// conflictRows arranges conflicting paths in columns or, on a narrow terminal, one below the other.
// Paths are never shortened, because users copy them.
func conflictRows(conflicts []managedfields.Conflict, now time.Time, width int) []string {
	rows := make([]row, len(conflicts))
	var path, yours, live, owned int
	for i, c := range conflicts {
		r := row{path: text.Printable(c.Path.String()), owners: format.Owners(c.Owners, now)}
		if c.SameValue {
			r.owners = append(r.owners, format.SameValue)
		}
		r.yours, r.live = values(c.Yours, c.Live, c.HasLive)
		rows[i] = r
		path, owned = max(path, format.Cells(r.path)), max(owned, format.Cells(r.owner()))
		yours, live = max(yours, format.Cells(r.yours)), max(live, format.Cells(r.live))
	}
	if width > 0 && len("  ")+path+len(pathGap+"yours   live   ")+owned+yours+live > width {
		return stacked(rows, width)
	}
	// Without a terminal, a single very long value must not shift all the others.
	yours, live = min(yours, widestColumn), min(live, widestColumn)
	var laid []string
	for _, r := range rows {
		laid = append(laid, strings.TrimRight(format.Pad(r.path, path)+pathGap+
			"yours "+format.Pad(r.yours, yours)+"  live "+format.Pad(r.live, live)+"  "+r.owner(), " "))
	}
	return laid
}

func stacked(rows []row, width int) []string {
	const indent = "    "
	columns := max(width-len("  "+indent), format.LeastValue)
	var laid []string
	for _, r := range rows {
		laid = append(laid, r.path)
		least := max(columns-len("yours "), format.LeastValue)
		yours, live := cutPair(r.yours, r.live, least, least)
		for _, line := range format.Flow(append([]string{"yours " + yours, "live " + live}, commas(r.owners)...), columns) {
			laid = append(laid, indent+line)
		}
	}
	return laid
}

// Up to fewFlags flags are listed individually. If there are more, they are grouped by path, and
// fewFlags groups are shown.
const fewFlags = 5

type choice struct {
	value   string
	objects int
	// refused means that the server would refuse to let us take the path. undeclared means that the
	// manifest lacks the path, so it cannot be yielded.
	refused, undeclared bool
}

// resolutions returns the paragraph below all conflicts, with the flags that settle them.
func resolutions(conflicts []event.Applied, opening string, named func(object.Ref) string) []string {
	choices, gathered := choicesOf(conflicts, named)
	shown := choices[:min(fewFlags, len(choices))]

	lines := []string{opening + " For each path, choose:"}
	for _, way := range []struct{ word, flag string }{{"take it ", "--take="}, {"leave it", "--yield="}} {
		word, takes := way.word, way.flag == "--take="
		for _, c := range shown {
			line := c.flag(way.flag)
			switch {
			case takes && c.refused:
				line = "not possible: the server would reject " + c.value + " (see above)"
			case !takes && c.undeclared:
				line = "not possible: " + c.value + " is a path of another API version; apply at that version"
			}
			lines = append(lines, "  "+format.Pad(word, len(way.word))+"   "+line)
			word = ""
		}
		if more := len(choices) - len(shown); more > 0 {
			lines = append(lines, fmt.Sprintf("  %s   and so on for %s", format.Pad("", len(way.word)), text.Count(more, "more path")))
		}
	}
	agree := "  agree      put the live value into the manifest"
	if slices.ContainsFunc(conflicts, func(a event.Applied) bool { return slices.ContainsFunc(a.Conflicts, managedfields.Conflict.Repeated) }) {
		agree += "; not possible for an item that is there more than once"
	}
	lines = append(lines, agree)
	refused := slices.ContainsFunc(conflicts, func(a event.Applied) bool { return a.Err != nil })
	if manager := soleOwner(conflicts); manager != "" && !refused {
		lines = append(lines, "  adopt      --adopt-from="+text.ShellQuote(manager)+"  # you take over all its fields; those not in the manifest are removed")
	}
	if len(choices) > 1 && !refused {
		lines = append(lines, "  take all   --take=all")
	}
	if gathered {
		lines = append(lines, "Without KIND/NAME, a flag applies to that path in every object.")
	}
	return lines
}

// soleOwner returns the manager whose adoption would settle all conflicts of the run, or "" if
// there is none.
func soleOwner(conflicts []event.Applied) string {
	sole := conflicts[0].AdoptFrom
	if slices.ContainsFunc(conflicts, func(a event.Applied) bool { return a.AdoptFrom != sole }) {
		return ""
	}
	return text.Printable(sole)
}

// flag returns the given flag followed by the choice's value. If the choice represents several
// objects, a shell comment with their number comes last.
func (c choice) flag(flag string) string {
	message := flag + text.ShellQuote(c.value)
	if c.objects > 1 {
		message += "  # " + text.Count(c.objects, "object")
	}
	return message
}

func nothingWritten(b output.Base, contested, changed map[int]bool) string {
	first := slices.Min(slices.Collect(maps.Keys(contested)))
	written := "was written"
	if b.DryRun {
		written = "would be written"
	}
	switch last := len(b.State.Phases) - 1; {
	case b.ContinueOnConflict:
		return "No object in conflict, and none that depends on one, " + written + "."
	case changed[first]: // An object was written before the phase was checked.
		return "Nothing in conflict " + written + "."
	case last <= 0:
		return "Nothing in this phase " + written + "."
	case first > 0 && first <= last:
		return fmt.Sprintf("Nothing in phase %[2]d (%[3]s) or later %[1]s.", written, first+1, text.Printable(b.State.Phases[first].Name))
	default:
		return "Nothing " + written + "."
	}
}

// onlyOwners returns a sentence about the fields that a run made ours before it met the conflicts;
// "" if there are none.
func onlyOwners(conflicts []event.Applied) string {
	var managers []string
	for _, a := range conflicts {
		managers = append(managers, a.Adopted...)
	}
	if len(managers) == 0 {
		return ""
	}
	slices.Sort(managers)
	return " But owners have changed: the fields of " + text.Printable(strings.Join(slices.Compact(managers), ", ")) + " are yours now."
}

// choicesOf returns the flag values that settle all conflicts. If there are many, a path without an
// object represents that path in all objects.
func choicesOf(conflicts []event.Applied, called func(object.Ref) string) (choices []choice, gathered bool) {
	byPath := map[string][]string{} // maps each path to the values that name its objects
	var paths []string
	seen, refused, undeclared := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range conflicts {
		for _, c := range a.Conflicts {
			path := text.Printable(c.Path.String())
			if _, known := byPath[path]; !known {
				paths = append(paths, path)
			}
			named := called(a.Ref) + ":" + path
			if !seen[named] {
				seen[named] = true
				byPath[path] = append(byPath[path], named)
				not := format.WouldBeRefused(a.Err, c.Path)
				refused[path] = refused[path] || not
				absent := slices.ContainsFunc(a.Unleavable, c.Path.Equal)
				undeclared[path] = undeclared[path] || absent
				choices = append(choices, choice{value: named, objects: 1, refused: not, undeclared: absent})
			}
		}
	}
	if len(choices) <= fewFlags || len(choices) == len(paths) {
		return choices, false
	}
	choices = nil
	for _, path := range paths {
		c := choice{value: path, objects: len(byPath[path]), refused: refused[path], undeclared: undeclared[path]}
		if c.objects == 1 {
			c.value = byPath[path][0]
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(b.objects, a.objects) })
	return choices, true
}

// foldLastApplied replaces a removed last-applied annotation, which repeats the whole object, with
// its size.
func foldLastApplied(before, after map[string]any) map[string]any {
	path := managedfields.LastAppliedPath()
	was, _ := path.Get(before)
	last, ok := was.(string)
	if _, stays := path.Get(after); !ok || stays || last == format.Masked {
		return before
	}
	meta, _ := before["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	before, meta, annotations = maps.Clone(before), maps.Clone(meta), maps.Clone(annotations)
	annotations[managedfields.LastAppliedAnnotation] = fmt.Sprintf("(%s)", text.Count(len(last), "byte"))
	meta["annotations"], before["metadata"] = annotations, meta
	return before
}

package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// fewFlags is how many flags are listed one by one. If there are more, they are grouped by path,
// and this many groups are shown.
const fewFlags = 5

// choice is the value of a --take or --yield flag, with the number of objects whose conflicts it
// settles.
type choice struct {
	value   string
	objects int
	// refused is set if the server would reject taking it; unstated if the manifest lacks it, so
	// that it cannot be yielded.
	refused, unstated bool
}

// resolutions returns the paragraph below all conflicts: what was not written, and the flags that
// settle them, ready to be pasted. named returns the name of an object in flags.
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
				line = "not possible: the server would reject " + c.value + ", see above"
			case !takes && c.unstated:
				line = "not possible: " + c.value + " is a path of another API version; apply at that version"
			}
			lines = append(lines, "  "+format.Pad(word, len(way.word))+"   "+line)
			word = ""
		}
		if more := len(choices) - len(shown); more > 0 {
			lines = append(lines, fmt.Sprintf("  %s   and so on for %s", format.Pad("", len(way.word)), text.Count(more, "more path")))
		}
	}
	lines = append(lines, "  agree      put the live value into the manifest")
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

// soleOwner returns the manager whose adoption settles all conflicts of the run; empty if there is
// none.
func soleOwner(conflicts []event.Applied) string {
	sole := conflicts[0].AdoptFrom
	if slices.ContainsFunc(conflicts, func(a event.Applied) bool { return a.AdoptFrom != sole }) {
		return ""
	}
	return text.Printable(sole)
}

// flag returns the flag for the choice. The shell ignores the comment.
func (c choice) flag(flag string) string {
	said := flag + text.ShellQuote(c.value)
	if c.objects > 1 {
		said += "  # " + text.Count(c.objects, "object")
	}
	return said
}

// nothingWritten says how far the run got: up to the first phase with conflicts. contested are the
// phases with conflicts, changed those in which something was written.
func nothingWritten(b output.Base, contested, changed map[int]bool) string {
	first := slices.Min(slices.Collect(maps.Keys(contested)))
	written := "was written"
	if b.DryRun {
		written = "would be written"
	}
	switch last := len(b.State.Phases) - 1; {
	case b.ContinueOnConflict:
		return "Nothing in conflict, or dependent on it, " + written + "."
	case changed[first]: // The object changed before the phase was checked.
		return "Nothing in conflict " + written + "."
	case last <= 0:
		return "Nothing in this phase " + written + "."
	case first > 0 && first <= last:
		return fmt.Sprintf("Nothing %s from phase %d (%s) on.", written, first+1, text.Printable(b.State.Phases[first].Name))
	default:
		return "Nothing " + written + "."
	}
}

// choicesOf returns the flag values that settle all conflicts. If there are many and objects share
// a path, the path without an object stands for all of them.
func choicesOf(conflicts []event.Applied, called func(object.Ref) string) (choices []choice, gathered bool) {
	byPath := map[string][]string{} // path to values that name the object
	var paths []string
	seen, refused, unstated := map[string]bool{}, map[string]bool{}, map[string]bool{}
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
				unstated[path] = unstated[path] || absent
				choices = append(choices, choice{value: named, objects: 1, refused: not, unstated: absent})
			}
		}
	}
	if len(choices) <= fewFlags || len(choices) == len(paths) {
		return choices, false
	}
	choices = nil
	for _, path := range paths {
		c := choice{value: path, objects: len(byPath[path]), refused: refused[path], unstated: unstated[path]}
		if c.objects == 1 {
			c.value = byPath[path][0]
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(b.objects, a.objects) })
	return choices, true
}

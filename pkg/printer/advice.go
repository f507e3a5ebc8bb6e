package printer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Up to this many flags are spelled out; beyond, they are gathered by path, and
// no more than this many of those are shown.
const fewFlags = 5

// choice is the value of a --take or --yield flag, and of how many objects it
// settles a conflict.
type choice struct {
	value   string
	objects int
}

// advice is the paragraph below all conflicts: that nothing was written, and the
// flags that settle them, ready to be pasted into a shell.
func advice(conflicts []event.Applied, phases int, dryRun bool) []string {
	choices, gathered := choicesOf(conflicts)
	shown := choices[:min(fewFlags, len(choices))]

	text := []string{nothingWritten(phases, dryRun) + " For each path, choose:"}
	for _, way := range []struct{ word, flag string }{{"take it ", "--take="}, {"leave it", "--yield="}} {
		word := way.word
		for _, c := range shown {
			text = append(text, "  "+pad(word, len(way.word))+"   "+c.flag(way.flag))
			word = ""
		}
		if more := len(choices) - len(shown); more > 0 {
			text = append(text, fmt.Sprintf("  %s   and so on for %s more", pad("", len(way.word)), count(more, "path")))
		}
	}
	text = append(text, "  agree      put the live value into the manifest")
	if len(choices) > 1 {
		text = append(text, "  take all   --take=all")
	}
	if gathered {
		text = append(text, "A flag without KIND/NAME: holds for that path of every object.")
	}
	return text
}

// flag spells the choice out. What follows the blank is a comment to a shell.
func (c choice) flag(flag string) string {
	text := flag + shellQuote(c.value)
	if c.objects > 1 {
		text += "  # " + count(c.objects, "object")
	}
	return text
}

func nothingWritten(phases int, dryRun bool) string {
	text := "Nothing in this phase"
	if phases > 1 {
		text = "Nothing in these phases"
	}
	if dryRun {
		return text + " would be written."
	}
	return text + " was written."
}

// choicesOf lists the flag values that settle all conflicts. Where they are many
// and objects share a path, the path alone stands for all of them.
func choicesOf(conflicts []event.Applied) (choices []choice, gathered bool) {
	byPath := map[string][]string{} // path to values with the object named
	var paths []string
	seen := map[string]bool{}
	for _, a := range conflicts {
		for _, c := range a.Conflicts {
			path := clean(c.Path.String())
			if _, known := byPath[path]; !known {
				paths = append(paths, path)
			}
			named := clean(a.Ref.Resource()) + ":" + path
			if !seen[named] {
				seen[named] = true
				byPath[path] = append(byPath[path], named)
				choices = append(choices, choice{value: named, objects: 1})
			}
		}
	}
	if len(choices) <= fewFlags || len(choices) == len(paths) {
		return choices, false
	}
	choices = nil
	for _, path := range paths {
		c := choice{value: path, objects: len(byPath[path])}
		if c.objects == 1 {
			c.value = byPath[path][0]
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(b.objects, a.objects) })
	return choices, true
}

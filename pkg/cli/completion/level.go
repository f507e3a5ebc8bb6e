package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// offer is a completion of a path with a note for people. of is KIND/NAME: of its object.
type offer struct{ of, path, note string }

// nextLevel returns the completions of a typed path: first the important ones, however deep they
// are, then the paths down to one level below what was typed. The others must have parents before
// their children. before is the text of the word that precedes the path.
func nextLevel(important []offer, others []string, before, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	var out, seen []string
	add := func(path, note string) {
		if slices.Contains(seen, path) {
			return
		}
		seen = append(seen, path)
		if note != "" {
			note = "\t" + note
		}
		out = append(out, before+path+note)
	}
	for _, o := range important {
		if strings.HasPrefix(o.path, typed) {
			add(o.path, o.note)
		}
	}
	last := ""
	for _, path := range others {
		switch {
		case !strings.HasPrefix(path, typed):
		case last != "" && last != typed && isBelow(path, last):
			directive |= cobra.ShellCompDirectiveNoSpace // The user may want to go on typing.
		default:
			last = path
			add(path, "")
		}
	}
	return out, directive
}

func isBelow(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// lastInList splits a list at the comma before its last element. A comma in brackets is part of a
// key.
func lastInList(list string) (before, last string) {
	depth, quoted, at := 0, false, 0
	for i, r := range list {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth <= 0:
			at = i + 1
		}
	}
	return list[:at], list[at:]
}

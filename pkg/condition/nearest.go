package condition

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the name that was probably meant: the one that is the fewest
// edits away, as long as they are fewer than a third of its letters; a name in
// another case before all others. Empty where none is near.
func nearest(name string, names []string) string {
	names = slices.Sorted(slices.Values(names))
	best, distance := "", 0
	for _, candidate := range names {
		d := edits(strings.ToLower(name), strings.ToLower(candidate))
		if d > max(1, len(candidate)/3) {
			continue
		}
		if best == "" || d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// edits counts the insertions, deletions, replacements and swaps of neighbours
// that make b of a (optimal string alignment).
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// list names a few of the names, the nearest first.
func list(name string, names []string, most int) string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(edits(name, a), edits(name, b)), cmp.Compare(a, b))
	})
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return strings.Join(names, ", ") + more
}

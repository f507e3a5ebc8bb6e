package text

import "strings"

// Nearest returns the one of known that word is most probably a slip of the pen
// for; empty if none is near enough. Of several that are as near, the first.
func Nearest(word string, known []string) string {
	best, bestEdits := "", 0
	for _, k := range known {
		if !Similar(word, k) {
			continue
		}
		if n := Edits(strings.ToLower(word), strings.ToLower(k)); best == "" || n < bestEdits {
			best, bestEdits = k, n
		}
	}
	return best
}

// Similar reports whether one word may be a slip of the pen for the other: one edit
// for every three letters, whatever their case.
func Similar(a, b string) bool {
	const letters = 3
	return min(len(a), len(b)) >= letters &&
		Edits(strings.ToLower(a), strings.ToLower(b)) <= max(len(a), len(b))/letters
}

// Edits is how many letters to add, drop, change or swap with their neighbour to
// make one word the other (optimal string alignment).
func Edits(one, other string) int {
	a, b := []rune(one), []rune(other)
	row := func() []int { return make([]int, len(b)+1) }
	twoUp, up, now := row(), row(), row()
	for j := range up {
		up[j] = j
	}
	for i := range a {
		now[0] = i + 1
		for j := range b {
			now[j+1] = min(up[j+1], now[j]) + 1
			if a[i] == b[j] {
				now[j+1] = min(now[j+1], up[j])
			} else {
				now[j+1] = min(now[j+1], up[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], twoUp[j-1]+1)
			}
		}
		twoUp, up, now = up, now, twoUp
	}
	return up[len(b)]
}

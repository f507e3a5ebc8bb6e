package text

import (
	"path"
	"strings"
)

// Nearest returns the first of the most similar known words; "" if none is similar enough.
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

// WithSuggestion appends the word that was probably meant: "flx (did you mean flux?)".
func WithSuggestion(name string, known []string) string {
	if intended := Nearest(name, known); intended != "" && intended != name {
		return name + " (did you mean " + intended + "?)"
	}
	return name
}

// AllWithSuggestions calls [WithSuggestion] for each name.
func AllWithSuggestions(names, known []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = WithSuggestion(name, known)
	}
	return out
}

// Similar reports whether one word may be a typo for the other, allowing one edit for every three
// letters and ignoring case.
func Similar(a, b string) bool {
	const letters = 3
	return min(len(a), len(b)) >= letters &&
		Edits(strings.ToLower(a), strings.ToLower(b)) <= max(len(a), len(b))/letters
}

// Edits returns the optimal string alignment distance of two words.
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

// Glob reports whether a name matches a shell pattern. A star also matches slashes.
func Glob(glob, name string) bool {
	if !strings.ContainsAny(glob, `*?[\`) {
		return glob == name
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(shellGlob(glob)), flat.Replace(name))
	return ok && err == nil
}

// IsGlob reports whether a pattern is valid.
func IsGlob(glob string) bool {
	_, err := path.Match(shellGlob(glob), "")
	return err == nil
}

// shellGlob converts a shell pattern for package path, which expects [^…] instead of [!…].
func shellGlob(glob string) string {
	out := []byte(glob)
	within := false
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '\\':
			i++
		case within:
			within = out[i] != ']'
		case out[i] == '[':
			within = true
			if i+1 < len(out) && out[i+1] == '!' {
				out[i+1] = '^'
			}
		}
	}
	return string(out)
}

package text

import (
	"path"
	"strings"
)

// Glob reports whether a name matches a pattern as a shell reads it. A star matches slashes
// and dots too, which names of contexts and groups are full of.
func Glob(glob, name string) bool {
	if !strings.ContainsAny(glob, `*?[\`) {
		return glob == name
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(shellGlob(glob)), flat.Replace(name))
	return ok && err == nil
}

// IsGlob reports whether a pattern can be read: no bracket in it is open or empty, and no
// backslash ends it.
func IsGlob(glob string) bool {
	_, err := path.Match(shellGlob(glob), "")
	return err == nil
}

// shellGlob returns a glob as package path reads it. A shell negates a bracket by [!…],
// which there would be the opposite: the exclamation mark, and all that is to be refused.
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

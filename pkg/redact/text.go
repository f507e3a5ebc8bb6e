package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// shortest is the length below which a value is masked as a whole word only: a
	// secret "a" must not cost every a of a message.
	shortest = 4
	// shortestLine is the length from which single lines of a value are masked.
	shortestLine = 8
)

// Text masks the secret values of an object in a text, such as a server's error message,
// in every spelling; the name, the namespace and the keys of the object stay. Texts about
// objects other than Secrets are returned as they are.
func Text(u *unstructured.Unstructured, text string) string {
	if u == nil || !IsSecret(object.RefOf(u)) {
		return text
	}
	forms := map[string]bool{}
	add := func(value string) {
		for _, v := range append(parts(value), value, strings.TrimSpace(value)) {
			if v != value && len(v) < realLength || strings.TrimSpace(v) == "" {
				continue
			}
			for _, form := range spellings(v) {
				forms[form] = true
			}
		}
	}
	names := newNames()
	names.object(u.Object)
	values(u.Object, add)
	if last := u.GetAnnotations()[managedfields.LastAppliedAnnotation]; last != "" {
		add(last)
		var before map[string]any
		if json.Unmarshal([]byte(last), &before) == nil {
			values(before, add)
		}
	}
	return maskForms(text, forms, names)
}

// maskForms masks every occurrence of a form. Those that overlap become one mask, so that
// nothing is left of a value that contains another one.
func maskForms(text string, forms map[string]bool, names *nameSet) string {
	var found [][2]int
	for form := range forms {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			at += i
			end := at + len(form)
			if (len(form) >= shortest || isWhole(text, at, end)) && !names.cover(text, at, end) {
				found = append(found, [2]int{at, end})
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	var b strings.Builder
	done := 0
	for i := 0; i < len(found); {
		from, to := found[i][0], found[i][1]
		for i++; i < len(found) && found[i][0] < to; i++ {
			to = max(to, found[i][1])
		}
		b.WriteString(text[done:from])
		b.WriteString(Mask)
		done = to
	}
	return b.String() + text[done:]
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

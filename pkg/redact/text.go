package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// Text masks the secret values of an object in a text, such as a server's error
// message: as they are, in base64, decoded, and escaped. Texts about objects other
// than Secrets are returned as they are.
func Text(u *unstructured.Unstructured, text string) string {
	if u == nil || !IsSecret(object.RefOf(u)) {
		return text
	}
	v := vault{}
	v.object(u.Object)
	annotation, _, _ := unstructured.NestedString(u.Object, "metadata", "annotations", managedfields.LastAppliedAnnotation)
	if annotation != "" {
		v.add(annotation)
		var last map[string]any
		if json.Unmarshal([]byte(annotation), &last) == nil {
			v.object(last)
		}
	}
	return v.mask(text)
}

// vault collects the forms in which values may appear.
type vault struct {
	forms []string
}

func (v *vault) object(o map[string]any) {
	each(o["data"], func(encoded string) {
		v.add(encoded)
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			v.add(string(decoded))
		}
	})
	each(o["stringData"], func(plain string) {
		v.add(plain)
		v.add(base64.StdEncoding.EncodeToString([]byte(plain)))
	})
}

// each calls f for every scalar in a value of any shape: the server refuses one
// that is not a map of strings, and quotes it in the refusal.
func each(value any, f func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, below := range value {
			each(below, f)
		}
	case []any:
		for _, below := range value {
			each(below, f)
		}
	default:
		f(scalar(value))
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

func (v *vault) add(value string) {
	v.form(value)
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= shortestLine {
				v.form(line)
			}
		}
	}
}

// form adds a value, as it is and escaped as in Go and in JSON.
func (v *vault) form(value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	v.forms = append(v.forms, value)
	quoted := strconv.Quote(value)
	v.forms = append(v.forms, quoted[1:len(quoted)-1])
	if text, err := json.Marshal(value); err == nil {
		v.forms = append(v.forms, string(text[1:len(text)-1]))
	}
}

// mask replaces the longest forms first, since one may be part of another.
func (v *vault) mask(text string) string {
	slices.SortFunc(v.forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	forms := slices.Compact(v.forms)
	short := slices.IndexFunc(forms, func(form string) bool { return len(form) < shortest })
	if short < 0 {
		short = len(forms)
	}
	var pairs []string
	for _, form := range forms[:short] {
		pairs = append(pairs, form, Mask)
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	for _, form := range forms[short:] {
		text = maskWord(text, form)
	}
	return text
}

// maskWord replaces a word that no letter or digit adjoins.
func maskWord(text, word string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(word)
		last, _ := utf8.DecodeLastRuneInString(b.String() + text[:i])
		next, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[:i])
		if isWord(last) || isWord(next) {
			b.WriteString(word)
		} else {
			b.WriteString(Mask)
		}
		text = text[end:]
	}
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// spellings returns the forms in which a program may quote a value: unchanged, in base64, base32
// and hexadecimal, and quoted for Go, JSON, YAML, Python, HTML, XML, C and URLs. Each quoted form is
// quoted once more, because a log may quote a body that quotes the value. To save memory, a long
// value has fewer forms; its lines are treated as separate values ([parts]). Lists of bytes are
// found by [maskByteLists].
func spellings(value string) []string {
	standard := base64.StdEncoding.EncodeToString([]byte(value))
	forms := append(folded(standard), standard, strings.TrimRight(standard, "="))
	hexadecimal := hex.EncodeToString([]byte(value))
	forms = append(forms, hexadecimal)
	if !utf8.ValidString(value) { // Most programs print invalid UTF-8 as Go does.
		return text.Distinct(append(forms, value, inGo(value), asBytes(value)[0]))
	}
	if len(value) > piece {
		_, ascii := inJSON(value)
		forms = append(append(forms, value, inGo(value), inGo(inGo(value)), asHTML(ascii)), asMarkup(value)...)
		return text.Distinct(append(forms, asBytes(value)...))
	}
	in32 := base32.StdEncoding.EncodeToString([]byte(value))
	forms = append(forms, in32, strings.TrimRight(in32, "="))
	forURL := strings.NewReplacer("+", "-", "/", "_").Replace(standard)
	forms = append(forms, forURL, strings.TrimRight(forURL, "="), url.QueryEscape(standard), strings.ToUpper(hexadecimal))
	once := quotings([]string{value})
	for _, quoted := range once {
		forms = append(forms, asMarkup(quoted)...)
	}
	for _, escaped := range asBytes(value) {
		forms = append(forms, escaped, inGo(escaped))
	}
	return text.Distinct(append(forms, quotings(once)...))
}

// asMarkup returns a text as the libraries of Go, Python and others escape it for HTML and XML.
func asMarkup(t string) []string {
	if !strings.ContainsAny(t, "&<>\"'\n\t\r") {
		return nil
	}
	var forms []string
	for _, quotes := range [][2]string{{"&#34;", "&#39;"}, {"&quot;", "&#x27;"}, {"&quot;", "&apos;"}, {"&quot;", "&#39;"}, {`"`, "'"}} {
		forms = append(forms, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, quotes[0], "'", quotes[1]).Replace(t))
	}
	inXML := strings.NewReplacer("\n", "&#xA;", "\t", "&#x9;", "\r", "&#xD;")
	return text.Distinct(append(forms, inXML.Replace(forms[0])))
}

// asBytes returns a text as programs print bytes: Python and Rust escape those beyond ASCII in
// hexadecimal, C and the text format of protocol buffers in octal.
func asBytes(t string) []string {
	var hexadecimal, octal strings.Builder
	for _, c := range []byte(t) {
		switch {
		case c == '\\':
			hexadecimal.WriteString(`\\`)
			octal.WriteString(`\\`)
		case c == '\n' || c == '\t' || c == '\r':
			quoted := strconv.QuoteRune(rune(c))
			hexadecimal.WriteString(quoted[1 : len(quoted)-1])
			octal.WriteString(quoted[1 : len(quoted)-1])
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&hexadecimal, `\x%02x`, c)
			fmt.Fprintf(&octal, `\%03o`, c)
		default:
			hexadecimal.WriteByte(c)
			octal.WriteByte(c)
		}
	}
	python := hexadecimal.String()
	return text.Distinct([]string{
		python, strings.ReplaceAll(python, "'", `\'`), strings.ReplaceAll(python, `"`, `\"`),
		octal.String(), strings.ReplaceAll(octal.String(), `"`, `\"`), strings.NewReplacer(`"`, `\"`, "'", `\'`).Replace(octal.String()),
	})
}

// quotings returns each string unchanged and in every quoting style.
func quotings(texts []string) []string {
	out := texts
	for _, t := range texts {
		if isUnquoted(t) {
			continue
		}
		escaped := inGo(t)
		plain, ascii := inJSON(t)
		out = append(out, escaped, plain, ascii, asHTML(plain), asHTML(ascii), strings.ReplaceAll(t, "'", "''"),
			inPython(t), strings.ReplaceAll(inPython(t), "'", `\'`), url.QueryEscape(t), url.PathEscape(t), inPath(t, "/"), inPath(t, ""))
	}
	return text.Distinct(out)
}

// isUnquoted reports whether the text looks the same in every quoting style.
func isUnquoted(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

func inGo(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// inJSON escapes a text for JSON. ascii also escapes non-ASCII characters, as Python's JSON encoder
// does by default.
func inJSON(text string) (plain, ascii string) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return text, text
	}
	plain = strings.TrimSuffix(b.String(), "\n")
	plain = plain[1 : len(plain)-1]
	b.Reset()
	for _, r := range plain {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return plain, b.String()
}

// asHTML escapes the characters that Go's JSON encoder escapes for safety in HTML.
func asHTML(quoted string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(quoted)
}

func inPython(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r == '\n', r == '\t', r == '\r':
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// inPath escapes a text for a URL's path. Like Python and JavaScript, it does not escape the bytes
// in safe.
func inPath(text, safe string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if isUnquoted(string(rune(c))) && c < 0x80 || c == '~' || strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// folded returns the lines into which the commands base64 and openssl wrap an encoded value.
func folded(encoded string) []string {
	var lines []string
	for _, width := range []int{64, 76} {
		for rest := encoded; len(encoded) > width && rest != ""; {
			n := min(width, len(rest))
			lines, rest = append(lines, rest[:n]), rest[n:]
		}
	}
	return lines
}

var (
	// the password in a connection string
	userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^:/?#\s]*:([^/?#\s]+)@`)
	// the value of a setting: k=v, k: v
	setting = regexp.MustCompile(`(?:^|[\s;,&?])[A-Za-z_][\w.-]*(?:=|:[ \t]+)("[^"]*"|'[^']*'|[^\s;,&]+)`)
)

// parts returns the parts of a value that a message may quote on their own: a line, the password in
// a connection string, the value of a setting, or a scalar in JSON.
func parts(value string) []string {
	var out []string
	if !utf8.ValidString(value) {
		return nil // It has no lines or settings.
	}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= shortestLine {
				out = append(out, line)
			}
		}
	}
	if strings.Contains(value, "://") {
		for _, match := range userinfo.FindAllStringSubmatch(value, -1) {
			out = append(out, match[1])
			if plain, err := url.PathUnescape(match[1]); err == nil {
				out = append(out, plain)
			}
		}
	}
	if strings.ContainsAny(value, "=:") {
		for _, match := range setting.FindAllStringSubmatch(value, -1) {
			out = append(out, strings.Trim(match[1], `'"`))
		}
	}
	if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var scalars any
		if json.Unmarshal([]byte(trimmed), &scalars) == nil {
			each(scalars, func(part string) { out = append(out, part) })
		}
	}
	return out
}

// values calls f for each value of a Secret, and for each value in its last-applied annotation. The
// rest of that annotation, such as names and labels, is in the Secret's metadata, too.
func values(u *unstructured.Unstructured, f func(string)) {
	dataOf(u.Object, f)
	last := u.GetAnnotations()[managedfields.LastAppliedAnnotation]
	if last == "" {
		return
	}
	var before map[string]any
	if json.Unmarshal([]byte(last), &before) != nil {
		f(last)
		return
	}
	dataOf(before, f)
}

func dataOf(o map[string]any, f func(string)) {
	each(o["data"], func(encoded string) {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			f(string(decoded)) // Its spellings include the encoded value.
			if base64.StdEncoding.EncodeToString(decoded) == encoded && len(decoded) >= realLength {
				return
			}
		}
		f(encoded)
	})
	each(o["stringData"], f)
}

// each calls f for every scalar in a value. In a manifest, a Secret's data may have any shape; a
// server rejects data that is not a map of strings, and quotes it in the error.
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
	case string:
		f(value)
	case float64:
		f(fmt.Sprint(value))
		f(strconv.FormatFloat(value, 'f', -1, 64)) // A message may format it as JSON does.
	case nil:
	default:
		f(fmt.Sprint(value))
	}
}

// A nameSet contains names of objects, namespaces, kinds, groups, keys and files. They are not
// masked, because a run prints them anyway. A message with a masked name would be useless, and
// would reveal that the name is a secret value.
type nameSet struct {
	words map[string]bool
	kinds map[schema.GroupKind]bool
}

func newNames() *nameSet {
	// Image digests begin with sha256.
	return &nameSet{words: map[string]bool{"sha256": true}, kinds: map[schema.GroupKind]bool{}}
}

func (n *nameSet) add(words ...string) {
	for _, word := range words {
		if len(word) >= shortest {
			n.words[word] = true
		}
	}
}

func (n *nameSet) object(o map[string]any) {
	n.ref(object.RefOf(&unstructured.Unstructured{Object: o}))
	for _, field := range []string{"data", "stringData"} {
		values, _ := o[field].(map[string]any)
		for key := range values {
			n.add(key)
		}
	}
}

func (n *nameSet) ref(r object.Ref) {
	n.add(r.Name, r.Namespace)
	gk := r.GVK.GroupKind()
	if n.kinds[gk] {
		return
	}
	n.kinds[gk] = true
	kind := strings.ToLower(gk.Kind)
	n.add(gk.Group, gk.Kind, gk.Kind+"List", kind, kind+"s", kind+"es", strings.TrimSuffix(kind, "y")+"ies")
	if gk.Group != "" {
		n.add(kind+"."+gk.Group, kind+"s."+gk.Group, kind+"es."+gk.Group, strings.TrimSuffix(kind, "y")+"ies."+gk.Group)
	}
}

func (n *nameSet) knows(r object.Ref) bool {
	known := func(word string) bool { return len(word) < shortest || n.words[word] }
	return known(r.Name) && known(r.Namespace) && n.kinds[r.GVK.GroupKind()]
}

// cover reports whether a part of a text is within a name.
func (n *nameSet) cover(text string, from, to int) bool {
	if n == nil {
		return false
	}
	for from > 0 && isNameByte(text[from-1]) {
		from--
	}
	for to < len(text) && isNameByte(text[to]) {
		to++
	}
	return n.words[strings.TrimRight(text[from:to], ".")]
}

func isNameByte(c byte) bool {
	return c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

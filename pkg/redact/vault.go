package redact

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Vault knows the values of every Secret that one run has seen, and masks them in
// everything the run prints. It does not mask values shorter than [realLength]: "true"
// or "1" are everywhere. In a text about the Secret itself, [Text] masks those as well.
//
// A value that is also a name (of an object in the run, its namespace, a key) stays: it
// is printed anyway, and a masked name names nothing.
//
// A Vault may be used from many goroutines. A nil Vault knows nothing.
type Vault struct {
	mu    sync.RWMutex
	index index
	// sure holds the forms that are masked in finished output too, where the same text
	// may be part of our own.
	sure   index
	public map[string]bool
}

const (
	// tokenLength is the length from which one line of a value, or one word of letters
	// alone, is too rare to be anything but secret.
	tokenLength = 16
	// piece is the length of the parts into which long values are cut, so that a part
	// of one is recognized.
	piece = 512
)

// NewVault returns a Vault that knows nothing yet.
func NewVault() *Vault {
	return &Vault{index: newIndex(), sure: newIndex(), public: map[string]bool{}}
}

// Learn takes the values of an object if it is a Secret, or a list with Secrets in it.
func (v *Vault) Learn(o map[string]any) {
	if v == nil || o == nil {
		return
	}
	if items, ok := o["items"].([]any); ok {
		kind, _ := o["kind"].(string)
		apiVersion, _ := o["apiVersion"].(string)
		for _, item := range items {
			m, _ := item.(map[string]any)
			if m != nil && m["kind"] == nil { // A typed list states the kind once for all items.
				m = map[string]any{
					"apiVersion": apiVersion, "kind": strings.TrimSuffix(kind, "List"),
					"data": m["data"], "stringData": m["stringData"], "metadata": m["metadata"],
				}
			}
			v.Learn(m)
		}
		return
	}
	u := &unstructured.Unstructured{Object: o}
	if !IsSecret(object.RefOf(u)) {
		return
	}
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	v.Public(name, namespace)
	v.fields(o)
	annotations, _ := metadata["annotations"].(map[string]any)
	if last, _ := annotations[managedfields.LastAppliedAnnotation].(string); last != "" {
		v.Add(last)
		var before map[string]any
		if json.Unmarshal([]byte(last), &before) == nil {
			v.fields(before)
		}
	}
}

func (v *Vault) fields(o map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, _ := o[field].(map[string]any)
		for key := range values {
			v.Public(key)
		}
		each(o[field], func(text string) {
			v.Add(text)
			if field == "stringData" {
				return
			}
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				v.Add(string(plain))
			}
		})
	}
}

// Public declares texts that are no secret, because they are names.
func (v *Vault) Public(words ...string) {
	if v == nil {
		return
	}
	v.mu.RLock()
	known := true
	for _, word := range words {
		known = known && (word == "" || v.public[word])
	}
	v.mu.RUnlock()
	if known {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, word := range words {
		v.public[word] = true
	}
}

// Add takes one value, with the forms in which it may be quoted: in base64, escaped,
// its lines, and if it is JSON, its contents.
func (v *Vault) Add(value string) {
	if v == nil || len(strings.TrimSpace(value)) < realLength {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(value)
	v.add(base64.StdEncoding.EncodeToString([]byte(value)))
	v.add(base64.RawStdEncoding.EncodeToString([]byte(value)))
	if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		var parts any
		if json.Unmarshal([]byte(trimmed), &parts) == nil {
			each(parts, v.add)
		}
	}
}

// add takes a value and its lines, as they are and escaped.
func (v *Vault) add(value string) {
	v.quoted(value, isRare(value))
	lines := strings.Split(value, "\n")
	if len(lines) == 1 {
		return
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= shortestLine {
			v.quoted(line, isToken(line))
		}
	}
}

// quoted takes a text as it is and as escaped by Go, JSON and YAML, once and twice: a
// log quotes a body that quotes an annotation that quotes the value.
func (v *Vault) quoted(value string, sure bool) {
	value = strings.TrimSpace(value)
	forms := []string{value}
	for range 2 {
		if isUnquoted(value) {
			break
		}
		for _, form := range forms {
			forms = append(forms, inGo(form), inJSON(form), strings.ReplaceAll(form, "'", "''"))
		}
		forms = text.Distinct(forms)
	}
	for _, form := range forms {
		for _, part := range pieces(form) {
			v.index.add(part)
			if sure {
				v.sure.add(part)
			}
		}
	}
}

// isUnquoted reports whether a text looks the same in all quotes.
func isUnquoted(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' || r == '<' || r == '>' || r == '&'
	}) < 0
}

func inGo(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(quoted[1 : len(quoted)-1])
}

// pieces cuts a long form into parts that overlap, the last one as long as the others.
func pieces(form string) []string {
	if len(form) <= piece {
		return []string{form}
	}
	var parts []string
	for at := 0; at+piece < len(form); at += piece - 1 {
		parts = append(parts, form[at:at+piece])
	}
	return append(parts, form[len(form)-piece:])
}

// isRare reports whether a value is unlikely to be a word of ours.
func isRare(value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < anyPlace {
		return false
	}
	return len(value) >= tokenLength || !isPlainWord(value)
}

func isPlainWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isToken distinguishes a line of a key or a token from one of a configuration, which
// may well equal a line of YAML that we print.
func isToken(line string) bool {
	return len(line) >= tokenLength &&
		strings.Trim(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-.") == ""
}

// Text masks what the Vault knows in a text from outside: a server's message, a log. If
// the text breaks off within a value, at its end or before an ellipsis, the part that
// is there is masked.
func (v *Vault) Text(text string) string {
	if v == nil || len(text) < realLength {
		return text
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.index.mask(text, v.public)
}

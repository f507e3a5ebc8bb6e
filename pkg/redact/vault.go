package redact

import (
	"encoding/json"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Vault knows the values of every Secret that one run has seen, and masks them in everything that
// the run prints. It does not mask values shorter than [realLength]: "true" or "1" are everywhere.
// In a text about the Secret itself, [Text] masks those as well.
//
// A value stays where it is a name (of an object, a kind, a file, a key) or a part of one: it is
// printed anyway, and a masked name would name nothing. A value that is a plain word ("postgres")
// is masked where it is quoted alone, and stays in sentences, which are ours.
//
// A Vault is safe for concurrent use. A nil Vault knows nothing.
type Vault struct {
	mu    sync.RWMutex
	index index
	names *nameSet
}

const (
	// tokenLength is the length from which one line of a value, or one word of letters, is too rare
	// to be anything but secret.
	tokenLength = 16
	// piece is the length of the parts into which long values are split, so that a part of one is
	// recognized.
	piece = 512
)

// NewVault returns a Vault that knows nothing yet.
func NewVault() *Vault {
	return &Vault{index: newIndex(), names: newNames()}
}

// Learn learns the names of an object, and its values if it is a Secret; of a list, those of its
// items.
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
	ref := object.RefOf(u)
	v.Ref(ref)
	if !IsSecret(ref) {
		return
	}
	v.mu.Lock()
	v.names.object(o)
	v.mu.Unlock()
	values(o, v.Add)
	if last := u.GetAnnotations()[managedfields.LastAppliedAnnotation]; last != "" {
		v.Add(last)
		var before map[string]any
		if json.Unmarshal([]byte(last), &before) == nil {
			values(before, v.Add)
		}
	}
}

// Ref declares that the names of an object are no secret.
func (v *Vault) Ref(r object.Ref) {
	if v == nil {
		return
	}
	v.mu.RLock()
	known := v.names.knows(r)
	v.mu.RUnlock()
	if known {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.ref(r)
}

// Name declares that a name, such as that of a field manager, is no secret.
func (v *Vault) Name(name string) {
	if v == nil {
		return
	}
	v.mu.RLock()
	known := v.names.words[name]
	v.mu.RUnlock()
	if known {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.add(name)
}

// File declares that the parts of a file's path are no secret.
func (v *Vault) File(path string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.add(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })...)
}

// Add learns one value, with the forms in which it, or a part of it, may be quoted.
func (v *Vault) Add(value string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	trimmed := strings.TrimSpace(value)
	v.add(trimmed, isRare(trimmed))
	if trimmed != value {
		v.add(value, isRare(trimmed))
	}
	for _, part := range parts(value) {
		v.add(part, isToken(part))
	}
}

func (v *Vault) add(value string, sure bool) {
	if len(strings.TrimSpace(value)) < realLength {
		return
	}
	for _, form := range spellings(value) {
		for _, part := range pieces(form) {
			v.index.add(part, sure || form != value && isRare(form))
		}
	}
}

// pieces splits a long form into overlapping parts, the last one as long as the others.
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
	return !isPlainWord(value)
}

// isPlainWord reports whether a value may be a word of a sentence.
func isPlainWord(text string) bool {
	return len(text) < tokenLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isToken distinguishes a line of a key or a token from one of a configuration, which may well
// equal a line of YAML that we print.
func isToken(line string) bool {
	return len(line) >= tokenLength &&
		strings.Trim(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-.") == ""
}

// Text masks the known values in a foreign text: a server's message, a log. If the text breaks off
// within a value, at its end or before an ellipsis, it masks the part that is there.
func (v *Vault) Text(text string) string {
	if v == nil || len(text) < realLength {
		return text
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return forms{&v.index, false}.mask(text, v.names)
}

package redact

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Vault knows the values of every Secret that a run has read, and masks them in everything that the
// run prints. It does not mask values shorter than [realLength], such as "true". In texts about the
// Secret itself, [Text] masks these, too.
//
// It does not mask a value within a name of an object, kind, file or key: names are printed anyway,
// and would be useless if masked. It masks a plain word ("postgres") only where the word stands
// alone in quotes or after an equals sign, because our own sentences may contain it.
//
// It is safe for concurrent use. A nil Vault knows nothing.
type Vault struct {
	mu    sync.RWMutex
	index index
	names *nameSet
}

const (
	// A line or word of at least this length is assumed to be a secret.
	tokenLength = 16
	// Pieces of this length are recognized even without the rest of a long value.
	piece = 512
)

// NewVault returns an empty Vault.
func NewVault() *Vault {
	return &Vault{index: newIndex(), names: newNames()}
}

// Learn adds the names of an object, and the values of a Secret. For a list, it does so for each
// item.
func (v *Vault) Learn(o map[string]any) {
	if v == nil || o == nil {
		return
	}
	if items, ok := o["items"].([]any); ok {
		kind, _ := o["kind"].(string)
		apiVersion, _ := o["apiVersion"].(string)
		for _, item := range items {
			m, _ := item.(map[string]any)
			if m != nil && m["kind"] == nil { // A typed list states the kind only once, for all items.
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
	values(u, v.Add)
}

// Ref declares that an object's names are not secret.
func (v *Vault) Ref(r object.Ref) {
	v.declare(func() bool { return v.names.knows(r) }, func() { v.names.ref(r) })
}

// Name declares that a name, such as a field manager's, is not secret.
func (v *Vault) Name(name string) {
	v.declare(func() bool { return v.names.words[name] }, func() { v.names.add(name) })
}

func (v *Vault) declare(known func() bool, add func()) {
	if v == nil {
		return
	}
	v.mu.RLock()
	done := known()
	v.mu.RUnlock()
	if done {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	add()
}

// File declares that the parts of a path are not secret.
func (v *Vault) File(path string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names.add(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })...)
}

// Add adds a value in all forms in which it may be quoted.
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

// isRare reports whether a value is unlikely to occur in our own output.
func isRare(value string) bool {
	value = strings.TrimSpace(value)
	return len(value) >= anyPlace && !isPlainWord(value)
}

// isPlainWord reports whether a text is a short word of letters only. Such a word may occur in our
// own sentences.
func isPlainWord(text string) bool {
	return len(text) < tokenLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isToken reports whether a line may be from a private key or a similar text. Lines of
// configuration are not tokens and are not masked, because YAML that we print may contain the same
// lines.
func isToken(line string) bool {
	return len(line) >= tokenLength &&
		strings.Trim(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-.") == ""
}

// Text masks the known values in foreign text, such as a server's message or a log. If the text
// ends in the middle of a value, Text masks the part that is present.
func (v *Vault) Text(text string) string {
	if v == nil || len(text) < realLength {
		return text
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	x := forms{&v.index, false}
	text = maskByteLists(text, func(decoded string) bool {
		from, to := x.nextMatch(decoded, 0, nil)
		return !x.none() && from < to
	})
	return x.mask(text, v.names)
}

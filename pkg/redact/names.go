package redact

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// nameSet holds words that are no secret, because a run prints them anyway: the names of
// objects, namespaces, kinds, groups, keys and files. A masked name names nothing, and
// tells who reads it what the value is.
type nameSet struct {
	words map[string]bool
	kinds map[schema.GroupKind]bool
}

func newNames() *nameSet {
	// An image is named by a digest.
	return &nameSet{words: map[string]bool{"sha256": true}, kinds: map[schema.GroupKind]bool{}}
}

func (n *nameSet) add(words ...string) {
	for _, word := range words {
		if len(word) >= shortest {
			n.words[word] = true
		}
	}
}

// object adds the names of an object, and the keys of its data.
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

// knows reports whether the names of an object were added.
func (n *nameSet) knows(r object.Ref) bool {
	known := func(word string) bool { return len(word) < shortest || n.words[word] }
	return known(r.Name) && known(r.Namespace) && n.kinds[r.GVK.GroupKind()]
}

// cover reports whether a part of a text lies within a name.
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

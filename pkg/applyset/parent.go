package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// The specification's labels and annotations.
const (
	// IDLabel makes an object a parent; PartOfLabel makes one a member.
	IDLabel     = "applyset.kubernetes.io/id"
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// ParentTypeLabel is on definitions whose objects may be parents.
	ParentTypeLabel = "applyset.kubernetes.io/is-parent-type"

	// ToolingAnnotation says which tool writes the set, as NAME/VERSION.
	ToolingAnnotation = "applyset.kubernetes.io/tooling"
	// KindsAnnotation and NamespacesAnnotation are the promise. The parent's own
	// namespace is always part of it, and not written down.
	KindsAnnotation      = "applyset.kubernetes.io/contains-group-kinds"
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
	// resourcesAnnotation is the predecessor of KindsAnnotation: it is read, not written.
	resourcesAnnotation = "applyset.kubernetes.io/contains-group-resources"
)

// ID returns the id of the set that has this parent. It is the parent's identity, so a
// parent that was copied under another name is recognised.
func ID(parent object.Ref) string {
	// Label values begin and end with a letter or a digit, which base64 does not promise.
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum(parent)) + "-v1"
}

// LeaseName returns the name of the Lease that locks the set, in the namespace of its
// parent. It is made of the same sum as the id, which has letters that no name may have.
func LeaseName(parent object.Ref) string {
	const enough = 16 // bytes: no two sets of a namespace meet
	return "applyset-" + hex.EncodeToString(sum(parent)[:enough])
}

func sum(parent object.Ref) []byte {
	hashed := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, parent.GVK.Kind, parent.GVK.Group}, ".")))
	return hashed[:]
}

// Selector is the label selector of the members of a set.
func Selector(id string) string { return PartOfLabel + "=" + id }

// ParentKind is the parent's kind if none is named.
func ParentKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// MayBeParent reports whether every server allows objects of the kind as parents. Any
// other kind needs [ParentTypeLabel] on its definition.
func MayBeParent(gk schema.GroupKind) bool {
	return gk.Group == "" && (gk.Kind == "Secret" || gk.Kind == "ConfigMap")
}

// ParseName reads how a set is named: NAME, or KIND[.GROUP]/NAME. kind is empty for
// [ParentKind].
func ParseName(text string) (kind, name string, err error) {
	kind, name, typed := strings.Cut(text, "/")
	if !typed {
		kind, name = "", text
	}
	switch {
	case name == "", typed && kind == "":
		return "", "", fmt.Errorf("%q names no set: it is NAME, or KIND[.GROUP]/NAME", text)
	case strings.Contains(name, "/"):
		return "", "", &object.HintedError{
			Err:    fmt.Errorf("%q names no set: it is NAME, or KIND[.GROUP]/NAME", text),
			Advice: "the namespace is named with -n",
		}
	}
	return kind, name, nil
}

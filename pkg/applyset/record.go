// Package applyset decides which objects belong to a set and which of them to prune, according to
// the ApplySet specification (KEP-3659). Callers [Read] the parent, [Render] it with a wider
// promise, write members only after that, and then [Decide]. The package never reads or writes the
// cluster.
package applyset

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Tooling is the [ToolingAnnotation] of a new parent. kubectl accepts only its own name, with any
// version. Our format is the same; managed fields show who wrote the parent.
const Tooling = "kubectl/v1.36.0+k8sconnect"

// Manager is the field manager of our writes to parents.
const Manager = "k8sconnect-applyset"

// Record is the content of a parent object.
type Record struct {
	Parent object.Ref
	// ID is the value of the parent's label, or "".
	ID string
	// Tooling is the tool that writes the set, as NAME/VERSION; empty before the first write.
	Tooling string
	Promise Promise
	// Resources come from the deprecated annotation. A caller with access to a server passes their
	// kinds to [Record.Resolve].
	Resources []schema.GroupResource
	// Reported is set if the parent lists its kinds, even if the list is empty.
	Reported bool
}

// Read reads a parent. [Record.Check] validates it.
func Read(u *unstructured.Unstructured) Record {
	notes := u.GetAnnotations()
	r := Record{Parent: object.RefOf(u), ID: u.GetLabels()[IDLabel], Tooling: notes[ToolingAnnotation]}
	kinds, reported := notes[KindsAnnotation]
	resources, before := notes[resourcesAnnotation]
	r.Reported = reported || before
	for _, text := range words(kinds) {
		r.Promise.Kinds = append(r.Promise.Kinds, schema.ParseGroupKind(text))
	}
	if !reported {
		for _, text := range words(resources) {
			r.Resources = append(r.Resources, schema.ParseGroupResource(text))
		}
	}
	r.Promise.Namespaces = words(notes[NamespacesAnnotation])
	if r.Parent.Namespace != "" {
		r.Promise.Namespaces = append(r.Promise.Namespaces, r.Parent.Namespace)
	}
	r.Promise = r.Promise.sorted()
	return r
}

func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// Resolve returns the record with these kinds instead of its Resources.
func (r Record) Resolve(kinds []schema.GroupKind) Record {
	r.Promise = r.Promise.Union(Promise{Kinds: kinds})
	r.Resources = nil
	return r
}

// IsNew reports whether the parent has no set yet.
func (r Record) IsNew() bool { return r.ID == "" && r.Tooling == "" }

// Check returns an error if we must not change the set. Reading it is always allowed.
func (r Record) Check() error {
	want := ID(r.Parent)
	tool := r.Tooling
	if i := strings.LastIndex(tool, "/"); i >= 0 { // The tool's name may contain slashes.
		tool = tool[:i]
	}
	switch {
	case r.IsNew():
		return nil
	case r.ID == "":
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("its label %s is missing; it should be %s", IDLabel, want)}
	case r.ID != want:
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("its label %s is %s, the id of another set: this object was copied or renamed", IDLabel, r.ID)}
	case r.Tooling == "":
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("it has no annotation %s", ToolingAnnotation)}
	case tool != "kubectl":
		return object.Hinted("apply it with that tool, or name another set",
			"%s is managed by %s, and no other tool may change it", r.Parent, r.Tooling)
	case !r.Reported:
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("it has no annotation %s, so its members cannot be found", KindsAnnotation)}
	}
	return nil
}

// Render returns the parent to apply. It refuses names that the annotations cannot represent.
func Render(r Record, p Promise) (*unstructured.Unstructured, error) {
	var kinds []string
	for _, gk := range p.Kinds {
		kinds = append(kinds, gk.String())
	}
	namespaces := slices.DeleteFunc(slices.Clone(p.Namespaces), func(n string) bool { return n == r.Parent.Namespace })
	for _, word := range slices.Concat(kinds, namespaces) {
		if strings.ContainsAny(word, ", ") {
			return nil, fmt.Errorf("%q cannot be recorded in the annotations of a set", word)
		}
	}
	notes := map[string]any{
		ToolingAnnotation:    r.Tooling,
		KindsAnnotation:      strings.Join(kinds, ","),
		NamespacesAnnotation: strings.Join(namespaces, ","),
	}
	if r.Tooling == "" {
		notes[ToolingAnnotation] = Tooling
	}
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name":        r.Parent.Name,
		"labels":      map[string]any{IDLabel: ID(r.Parent)},
		"annotations": notes,
	}}}
	u.SetGroupVersionKind(r.Parent.GVK)
	if r.Parent.Namespace != "" {
		u.SetNamespace(r.Parent.Namespace)
	}
	return u, nil
}

// BrokenError says that an object is not a valid parent.
type BrokenError struct {
	Parent object.Ref
	Err    error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s is not a valid set: %v", e.Parent, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

func (e *BrokenError) Hint() string {
	return "nothing was changed; correct the labels and annotations of this set, or name another"
}

const (
	// IDLabel makes an object a parent.
	IDLabel = "applyset.kubernetes.io/id"
	// PartOfLabel makes an object a member.
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// ParentTypeLabel marks a CRD whose objects may be parents.
	ParentTypeLabel = "applyset.kubernetes.io/is-parent-type"

	// ToolingAnnotation names the tool that writes the set, as NAME/VERSION.
	ToolingAnnotation = "applyset.kubernetes.io/tooling"
	// KindsAnnotation lists the promised kinds.
	KindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"
	// NamespacesAnnotation lists the promised namespaces. The parent's own namespace is always
	// promised and not listed.
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
	// resourcesAnnotation is the predecessor of KindsAnnotation. It is read but never written.
	resourcesAnnotation = "applyset.kubernetes.io/contains-group-resources"
)

// ID returns the id of the set with this parent. It depends on the parent's name, so that a copy of
// the parent under another name is detected.
func ID(parent object.Ref) string {
	// base64 may begin or end with a character that a label value must not begin or end with.
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum(parent)) + "-v1"
}

// LeaseName returns the name of the Lease that locks the set, in the parent's namespace. Unlike the
// set's id, it is a valid object name.
func LeaseName(parent object.Ref) string {
	const enough = 16 // bytes that distinguish the sets in one namespace
	return "applyset-" + hex.EncodeToString(sum(parent)[:enough])
}

func sum(parent object.Ref) []byte {
	hashed := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, parent.GVK.Kind, parent.GVK.Group}, ".")))
	return hashed[:]
}

// Selector returns the label selector of a set's members.
func Selector(id string) string { return PartOfLabel + "=" + id }

// ParentKind returns the default kind of a parent.
func ParentKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// MayBeParent reports whether every server accepts the kind as a parent. Other kinds need
// [ParentTypeLabel] on their CRD.
func MayBeParent(gk schema.GroupKind) bool {
	return gk.Group == "" && (gk.Kind == "Secret" || gk.Kind == "ConfigMap")
}

// ParseName parses NAME, or KIND[.GROUP]/NAME. kind is empty for [ParentKind].
func ParseName(text string) (kind, name string, err error) {
	kind, name, typed := strings.Cut(text, "/")
	if !typed {
		kind, name = "", text
	}
	switch {
	case name == "", typed && kind == "":
		return "", "", fmt.Errorf("%q is not the name of a set: write NAME or KIND[.GROUP]/NAME", text)
	case strings.Contains(name, "/"):
		return "", "", object.Hinted("set the namespace with -n",
			"%q is not the name of a set: write NAME or KIND[.GROUP]/NAME", text)
	}
	return kind, name, nil
}

// Promise lists the kinds and the namespaces that the members of a set may have. Both lists are
// sorted and have no duplicates.
type Promise struct {
	Kinds      []schema.GroupKind
	Namespaces []string
}

// PromiseOf returns the smallest promise that covers the objects.
func PromiseOf(refs []object.Ref) Promise {
	var p Promise
	for _, ref := range refs {
		p.Kinds = append(p.Kinds, ref.GVK.GroupKind())
		if ref.Namespace != "" {
			p.Namespaces = append(p.Namespaces, ref.Namespace)
		}
	}
	return p.sorted()
}

// Union returns the smallest promise that covers p and q.
func (p Promise) Union(q Promise) Promise {
	return Promise{Kinds: slices.Concat(p.Kinds, q.Kinds), Namespaces: slices.Concat(p.Namespaces, q.Namespaces)}.sorted()
}

// Equal reports whether the promises are the same.
func (p Promise) Equal(q Promise) bool {
	return slices.Equal(p.Kinds, q.Kinds) && slices.Equal(p.Namespaces, q.Namespaces)
}

func (p Promise) sorted() Promise {
	slices.SortFunc(p.Kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	slices.Sort(p.Namespaces)
	return Promise{Kinds: slices.Compact(p.Kinds), Namespaces: slices.Compact(p.Namespaces)}
}

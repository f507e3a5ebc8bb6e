// Package applyset decides which objects were applied together and which members may go, in the
// format of the ApplySet specification (KEP-3659). [Read] the parent, [Render] it with a wider
// promise before members are written, and ask [Decide] about the live members. It reads and writes
// nothing.
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

// Tooling is written into [ToolingAnnotation] of a new parent. kubectl applies to a set
// only if it finds its own name there, and ignores the version; we keep to kubectl's form
// of a set in every detail, being a plugin of kubectl. The managed fields show who really
// wrote a parent.
const Tooling = "kubectl/v1.36.0+k8sconnect"

// Manager is the field manager of our writes to parents.
const Manager = "k8sconnect-applyset"

// Record is what a parent says of its set.
type Record struct {
	Parent object.Ref
	// ID is the value of the parent's label; empty if it is not a parent yet.
	ID string
	// Tooling as NAME/VERSION; empty if the set was not written yet.
	Tooling string
	Promise Promise
	// Resources are promised by the deprecated annotation. A caller that can ask the
	// server has to resolve them to kinds: see [Record.Resolve].
	Resources []schema.GroupResource
	// Told: the parent says which kinds there are, even if that is none.
	Told bool
}

// Read reads a parent. It does not judge: see [Record.Check].
func Read(u *unstructured.Unstructured) Record {
	notes := u.GetAnnotations()
	r := Record{Parent: object.RefOf(u), ID: u.GetLabels()[IDLabel], Tooling: notes[ToolingAnnotation]}
	kinds, told := notes[KindsAnnotation]
	resources, before := notes[resourcesAnnotation]
	r.Told = told || before
	for _, text := range words(kinds) {
		r.Promise.Kinds = append(r.Promise.Kinds, schema.ParseGroupKind(text))
	}
	if !told {
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

// words reads a list with commas. Blanks and empty words, which an editor leaves behind,
// mean nothing.
func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// Resolve returns the record with the kinds that its resources turned out to be.
func (r Record) Resolve(kinds []schema.GroupKind) Record {
	r.Promise = r.Promise.Union(Promise{Kinds: kinds})
	r.Resources = nil
	return r
}

// IsNew reports whether no set was written into the parent yet.
func (r Record) IsNew() bool { return r.ID == "" && r.Tooling == "" }

// Check reports why we must not change a set; nil if we may. Reading is always allowed.
func (r Record) Check() error {
	want := ID(r.Parent)
	tool, _, _ := cutLast(r.Tooling, "/")
	switch {
	case r.IsNew():
		return nil
	case r.ID == "":
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("it has no label %s, which makes it one; %s would be right", IDLabel, want)}
	case r.ID != want:
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("its label %s is %s, which is another set's: it was copied, or renamed", IDLabel, r.ID)}
	case r.Tooling == "":
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("it has no annotation %s", ToolingAnnotation)}
	case tool != "kubectl":
		return &ForeignSetError{Parent: r.Parent, Tool: r.Tooling}
	case !r.Told:
		return &BrokenError{Parent: r.Parent, Err: fmt.Errorf("it has no annotation %s, so its members cannot be found", KindsAnnotation)}
	}
	return nil
}

// cutLast is strings.Cut at the last separator: a tool's name may have slashes.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Render returns the parent as it is applied, with this promise. A name in the promise that no annotation
// can hold is an error, because it would be read as another name.
func Render(r Record, p Promise) (*unstructured.Unstructured, error) {
	var kinds []string
	for _, gk := range p.Kinds {
		kinds = append(kinds, gk.String())
	}
	namespaces := slices.DeleteFunc(slices.Clone(p.Namespaces), func(n string) bool { return n == r.Parent.Namespace })
	for _, word := range slices.Concat(kinds, namespaces) {
		if strings.ContainsAny(word, ", ") {
			return nil, fmt.Errorf("%q cannot be part of a set's promise", word)
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

func (e *BrokenError) Error() string { return fmt.Sprintf("%s is no sound set: %v", e.Parent, e.Err) }

func (e *BrokenError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *BrokenError) Hint() string {
	return "name another set, or put its labels and annotations right: nothing was changed"
}

// ForeignSetError says that a set is another tool's: that keeps records which we would
// not.
type ForeignSetError struct {
	Parent object.Ref
	Tool   string
}

func (e *ForeignSetError) Error() string {
	return fmt.Sprintf("%s is a set of %s, and no other tool may write it", e.Parent, e.Tool)
}

// Hint says what to do about it.
func (e *ForeignSetError) Hint() string { return "apply it with that tool, or name another set" }

// NotASetError says that the object of a set's name is there for something else.
type NotASetError struct{ Parent object.Ref }

func (e *NotASetError) Error() string {
	return fmt.Sprintf("%s exists already and is not a set: it is used for something else", e.Parent)
}

// Hint says what to do about it.
func (e *NotASetError) Hint() string {
	return "name the set differently; --allow-join makes a set of that object all the same"
}

// The specification's labels and annotations.
const (
	// IDLabel makes an object a parent; PartOfLabel makes one a member.
	IDLabel     = "applyset.kubernetes.io/id"
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// ParentTypeLabel is on CRDs whose objects may be parents.
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
// other kind needs [ParentTypeLabel] on its CRD.
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

// Promise says where members of a set may be: in these kinds and, where a kind has
// namespaces, in these. Both are sorted, and have nothing twice.
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

// Union returns the smallest promise that covers what either covers.
func (p Promise) Union(q Promise) Promise {
	return Promise{Kinds: slices.Concat(p.Kinds, q.Kinds), Namespaces: slices.Concat(p.Namespaces, q.Namespaces)}.sorted()
}

// Equal reports whether both are the same promise.
func (p Promise) Equal(q Promise) bool {
	return slices.Equal(p.Kinds, q.Kinds) && slices.Equal(p.Namespaces, q.Namespaces)
}

func (p Promise) sorted() Promise {
	slices.SortFunc(p.Kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	slices.Sort(p.Namespaces)
	return Promise{Kinds: slices.Compact(p.Kinds), Namespaces: slices.Compact(p.Namespaces)}
}

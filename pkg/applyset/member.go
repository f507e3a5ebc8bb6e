package applyset

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Member is a live object with the label of a set.
type Member struct {
	Ref  object.Ref
	Kind object.Kind
	UID  types.UID

	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	appliers            []string
}

// MemberOf returns a live object as a member. It reads only metadata.
func MemberOf(kind object.Kind, u *unstructured.Unstructured) Member {
	ref := object.RefOf(u)
	ref.GVK = kind.GVK
	m := Member{
		Ref: ref, Kind: kind, UID: u.GetUID(),
		labels: u.GetLabels(), annotations: u.GetAnnotations(), owners: u.GetOwnerReferences(),
	}
	if len(m.owners) > 0 {
		m.appliers = appliersOf(u)
	}
	return m
}

// Client-side apply writes with the operation Update.
const byClient = "kubectl-client-side-apply"

func appliersOf(u *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
	var all []string
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		manager, _ := entry["manager"].(string)
		_, labelled, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:metadata", "f:labels", "f:"+PartOfLabel)
		if labelled && (entry["operation"] == "Apply" || manager == byClient) {
			all = append(all, manager)
		}
	}
	return all
}

// Set returns the id of the member's set, or "".
func (m Member) Set() string { return m.labels[PartOfLabel] }

// Claims returns the claims of other tools on the object.
func (m Member) Claims() []Claim { return claims(m.labels, m.annotations) }

// isCopy reports whether a controller created the object with the labels of its source. For
// example, Endpoints get the labels of their Service, and an operator's Pods get those of the
// custom resource. A copy is deleted with its source. An object that was applied with the label is
// not a copy, even if it has owner references.
func (m Member) isCopy(parent object.Ref, manager string) (by string, copied bool) {
	if slices.ContainsFunc(m.appliers, func(a string) bool {
		return a == manager || slices.Contains([]string{"k8sconnect", "kubectl", byClient}, a)
	}) {
		return "", false
	}
	for _, owner := range m.owners {
		if owner.Kind == parent.GVK.Kind && owner.Name == parent.Name {
			continue
		}
		gk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		return (object.Key{Group: gk.Group, Kind: gk.Kind, Name: owner.Name}).Ref().String(), true
	}
	if m.Ref.GVK.Group == "" && m.Ref.GVK.Kind == "Endpoints" && m.labels["endpoints.kubernetes.io/managed-by"] != "" {
		return "service/" + m.Ref.Name, true
	}
	return "", false
}

// Claim is a mark showing that a tool or another set owns an object.
type Claim struct {
	// Of is the kind of owner: "Helm release", "ApplySet".
	Of string
	// Name is NAMESPACE/NAME, NAME, or an id.
	Name string
	Mark string
}

func (c Claim) String() string { return c.Of + " " + c.Name }

// Claims returns the claims of another set, Helm, Flux or Argo CD on an object. id identifies our
// set, whose claim is not returned. Marks that only name the origin of a manifest, such as
// app.kubernetes.io/managed-by, are not claims.
func Claims(u *unstructured.Unstructured, id string) []Claim {
	var all []Claim
	if set := u.GetLabels()[PartOfLabel]; set != "" && set != id {
		all = append(all, Claim{Of: "set", Name: set, Mark: PartOfLabel})
	}
	return append(all, claims(u.GetLabels(), u.GetAnnotations())...)
}

// Owned returns a claim on an object that would be deleted along with its namespace or CRD; "" if
// there is none. id identifies our set, whose claim is not returned. The parent of another set
// counts as claimed by that set.
func Owned(u *unstructured.Unstructured, id string) string {
	if set := u.GetLabels()[IDLabel]; set != "" && set != id {
		return "set " + set
	}
	if all := Claims(u, id); len(all) > 0 {
		return all[0].String()
	}
	return ""
}

func claims(labels, annotations map[string]string) []Claim {
	var all []Claim
	for _, sign := range signs() {
		of := labels
		if sign.annotation {
			of = annotations
		}
		name := of[sign.name]
		if name == "" {
			continue
		}
		if namespace := of[sign.namespace]; sign.namespace != "" && namespace != "" {
			name = namespace + "/" + name
		}
		if sign.read != nil {
			name = sign.read(name)
		}
		claim := Claim{Of: sign.of, Name: name, Mark: sign.name}
		if len(all) > 0 && all[len(all)-1].Of == claim.Of {
			continue // Argo CD may mark an object twice.
		}
		all = append(all, claim)
	}
	return all
}

// IsReleaseMark reports whether Helm keeps at a path the release to which an object belongs.
func IsReleaseMark(p fieldpath.Path) bool {
	return p.Equal(fieldpath.Field("metadata", "annotations", "meta.helm.sh/release-name")) ||
		p.Equal(fieldpath.Field("metadata", "annotations", "meta.helm.sh/release-namespace"))
}

type sign struct {
	of              string
	name, namespace string
	annotation      bool
	// If read is nil, the whole value is the name.
	read func(string) string
}

func signs() []sign {
	return []sign{
		{of: "Helm release", name: "meta.helm.sh/release-name", namespace: "meta.helm.sh/release-namespace", annotation: true},
		{of: "Flux Kustomization", name: "kustomize.toolkit.fluxcd.io/name", namespace: "kustomize.toolkit.fluxcd.io/namespace"},
		{of: "Flux HelmRelease", name: "helm.toolkit.fluxcd.io/name", namespace: "helm.toolkit.fluxcd.io/namespace"},
		{of: "Argo CD Application", name: "argocd.argoproj.io/tracking-id", annotation: true, read: application},
		{of: "Argo CD Application", name: "argocd.argoproj.io/instance"},
	}
}

// A tracking id is APPLICATION:GROUP/KIND:NAMESPACE/NAME, where APPLICATION is NAME or
// NAMESPACE_NAME.
func application(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return strings.Replace(name, "_", "/", 1)
}

// PruneAnnotation keeps an object from being pruned if its value is "disabled".
const PruneAnnotation = "k8sconnect.io/prune"

// A keepMark is an annotation or label with which users tell a tool to keep an object.
type keepMark struct {
	key    string
	values []string
	// says reports whether text contains the value, by the rules of the mark's tool. Some tools,
	// for example, ignore case.
	says   func(text, value string) bool
	labels bool
	// whole is set if the tool honors the mark only when it deletes the whole set.
	whole bool
}

// keepMarks returns our mark and those of other tools; docs/design/sets.md lists the sources.
func keepMarks() []keepMark {
	const argo = "argocd.argoproj.io/sync-options"
	const flux = "kustomize.toolkit.fluxcd.io/"
	return []keepMark{
		{key: PruneAnnotation, values: []string{"disabled"}, says: trimmedFold},
		{key: "helm.sh/resource-policy", values: []string{"keep"}, says: trimmedFold},
		{key: flux + "prune", values: []string{"disabled"}, says: strings.EqualFold, labels: true},
		{key: flux + "reconcile", values: []string{"disabled"}, says: strings.EqualFold, labels: true},
		{key: flux + "ssa", values: []string{"ignore"}, says: strings.EqualFold, labels: true},
		{key: argo, values: []string{"Prune=false", "Prune=confirm"}, says: listed},
		{key: argo, values: []string{"Delete=false", "Delete=confirm"}, says: listed, whole: true},
		{key: "cli-utils.sigs.k8s.io/on-remove", values: []string{"keep"}, says: exactly},
		{key: "client.lifecycle.config.k8s.io/deletion", values: []string{"detach"}, says: exactly},
	}
}

func exactly(text, value string) bool { return text == value }

func trimmedFold(text, value string) bool { return strings.EqualFold(strings.TrimSpace(text), value) }

func listed(text, value string) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(one string) bool { return strings.TrimSpace(one) == value })
}

// keptBy returns the annotation or label that keeps the member, such as "annotation KEY: VALUE", or
// "". whole is set if the whole set is deleted.
func (m Member) keptBy(whole bool) string {
	for _, mark := range keepMarks() {
		if mark.whole && !whole {
			continue
		}
		for _, value := range mark.values {
			if text, found := m.annotations[mark.key]; found && mark.says(text, value) {
				return "annotation " + mark.key + ": " + value
			}
			if text, found := m.labels[mark.key]; found && mark.labels && mark.says(text, value) {
				return "label " + mark.key + ": " + value
			}
		}
	}
	return ""
}

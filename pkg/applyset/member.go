package applyset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Member is a live object that has the label of a set.
type Member struct {
	Ref object.Ref
	// Kind is how the server serves it.
	Kind object.Kind
	UID  types.UID

	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	// appliers have the label in their managed fields, of an object with owners.
	appliers []string
}

// MemberOf returns the member that an object is. Its metadata suffices; nothing of the
// object is kept but that.
func MemberOf(kind object.Kind, u *unstructured.Unstructured) Member {
	ref := object.RefOf(u)
	ref.GVK = kind.GVK // A list of metadata is of a kind of its own.
	m := Member{
		Ref: ref, Kind: kind, UID: u.GetUID(),
		labels: u.GetLabels(), annotations: u.GetAnnotations(), owners: u.GetOwnerReferences(),
	}
	if len(m.owners) > 0 {
		m.appliers = appliersOf(u)
	}
	return m
}

// byClient is plain kubectl apply's field manager. It updates.
const byClient = "kubectl-client-side-apply"

// appliersOf returns the managers that have applied the object with the label of a
// member.
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

// Set is the id of the set that the object claims to be part of; empty for none.
func (m Member) Set() string { return m.labels[PartOfLabel] }

// Claims returns the claims on the object besides those of sets.
func (m Member) Claims() []Claim { return claims(m.labels, m.annotations) }

// isCopy reports whether a controller made the object and copied the label to it from its
// source object: Endpoints have the labels of their Service, an operator's Pods those of
// the custom resource. The copy goes away with its source.
// An object that was applied with the label is no copy, whoever owns it.
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
		gk := groupKindOf(owner)
		return (object.Key{Group: gk.Group, Kind: gk.Kind, Name: owner.Name}).Ref().String(), true
	}
	if m.Ref.GVK.Group == "" && m.Ref.GVK.Kind == "Endpoints" && m.labels["endpoints.kubernetes.io/managed-by"] != "" {
		return "service/" + m.Ref.Name, true
	}
	return "", false
}

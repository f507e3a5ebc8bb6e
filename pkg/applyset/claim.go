package applyset

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Claim is a tool's or another set's mark that an object is theirs.
type Claim struct {
	// Of names what the object belongs to: "Helm release", "ApplySet".
	Of string
	// Name is NAMESPACE/NAME, NAME, or an id.
	Name string
	// Mark is the label or annotation that says so.
	Mark string
}

func (c Claim) String() string { return c.Of + " " + c.Name }

// Claims returns the claims on a live object, other than that of the set with this id:
// those of another set, a Helm release, a Flux Kustomization or HelmRelease, an Argo CD
// Application. Marks that only say where a manifest came from, such as
// app.kubernetes.io/managed-by, which every rendered chart has, are not claims.
func Claims(u *unstructured.Unstructured, id string) []Claim {
	var all []Claim
	if set := u.GetLabels()[PartOfLabel]; set != "" && set != id {
		all = append(all, Claim{Of: "set", Name: set, Mark: PartOfLabel})
	}
	return append(all, claims(u.GetLabels(), u.GetAnnotations())...)
}

// Owned returns the claim of another tool or set on an object in a namespace or CRD, from the view
// of the set with this id; empty if there is none. The parent of another set is that set's.
func Owned(u *unstructured.Unstructured, id string) string {
	if set := u.GetLabels()[IDLabel]; set != "" && set != id {
		return "set " + set
	}
	if all := Claims(u, id); len(all) > 0 {
		return all[0].String()
	}
	return ""
}

// claims are those of other tools than sets.
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

// sign is how a tool marks its objects.
type sign struct {
	of string
	// name and namespace are keys of annotations, or of labels.
	name, namespace string
	annotation      bool
	// read turns the value into the name; nil uses it as it is.
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

// application reads the name of an Application from a tracking id, which is
// NAME:GROUP/KIND:NAMESPACE/NAME, or begins with the Application's namespace, as
// NAMESPACE_NAME.
func application(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return strings.Replace(name, "_", "/", 1)
}

func groupKindOf(owner metav1.OwnerReference) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return schema.GroupKind{Kind: owner.Kind}
	}
	return gv.WithKind(owner.Kind).GroupKind()
}

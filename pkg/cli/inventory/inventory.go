// Package inventory lists the objects that a tool applies for a Helm release, a Flux Kustomization
// or HelmRelease, or an Argo CD Application.
package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Of is a reference to an object with an inventory.
type Of struct {
	Namespace, Name string
	tool            tool
}

// tool describes a kind whose objects list what a tool applies.
type tool struct {
	kind schema.GroupKind
	// words are the names of the kind in a flag.
	words   []string
	manager string
	// render is a command that prints the manifests, with the placeholders NAMESPACE and NAME.
	render string
	read   func(map[string]any) (Contents, error)
}

func tools() []tool {
	return []tool{
		{
			kind:  schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"},
			words: []string{"kustomization", "kustomizations", "ks"}, manager: "kustomize-controller", read: kustomization,
			render: "flux build kustomization NAME -n NAMESPACE --path=FOLDER",
		},
		{
			kind:  schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"},
			words: []string{"helmrelease", "helmreleases", "hr"}, manager: "helm-controller", read: helmRelease,
			render: "helm template NAME CHART -n NAMESPACE",
		},
		{
			kind:  schema.GroupKind{Group: "argoproj.io", Kind: "Application"},
			words: []string{"application", "applications", "app", "apps"}, manager: "argocd-controller", read: application,
			render: "argocd app manifests NAMESPACE/NAME --source=git",
		},
	}
}

// Kinds returns one name for each kind with an inventory.
func Kinds() []string {
	var words []string
	for _, t := range tools() {
		words = append(words, t.words[0])
	}
	return words
}

// Parse parses KIND/NAMESPACE/NAME.
func Parse(text string) (Of, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return Of{}, object.Hinted("such as kustomization/flux-system/apps, helmrelease/shop/web or application/argocd/shop",
			"%q: not KIND/NAMESPACE/NAME", text)
	}
	word, group, _ := strings.Cut(strings.ToLower(parts[0]), ".")
	for _, t := range tools() {
		if slices.Contains(t.words, word) && (group == "" || group == t.kind.Group) {
			return Of{Namespace: parts[1], Name: parts[2], tool: t}, nil
		}
	}
	return Of{}, fmt.Errorf("%q: %s has no known inventory: use one of %s", text, parts[0], strings.Join(Kinds(), ", "))
}

// String returns the reference as written in a flag.
func (o Of) String() string { return o.tool.words[0] + "/" + o.Namespace + "/" + o.Name }

// Kind returns the kind of the object.
func (o Of) Kind() schema.GroupKind { return o.tool.kind }

// Manager returns the field manager of the tool.
func (o Of) Manager() string { return o.tool.manager }

// Render returns the command for printing the manifests that the tool will apply next.
func (o Of) Render() string {
	return strings.NewReplacer("NAMESPACE", o.Namespace, "NAME", o.Name).Replace(o.tool.render)
}

// Contents are the objects in an inventory.
type Contents struct {
	// Objects have the versions at which the tool last applied them.
	Objects []object.Ref
	// Release is the Helm release behind the object, if any; Objects is then empty.
	Release *Release
}

// Release identifies a Helm release by its storage namespace and name.
type Release struct{ Namespace, Name string }

// Read returns the inventory of a live object.
func (o Of) Read(live *unstructured.Unstructured) (Contents, error) {
	contents, err := o.tool.read(live.Object)
	if err != nil {
		return contents, fmt.Errorf("%s: %w", o, err)
	}
	return contents, nil
}

func elsewhere(by string) error {
	return &object.HintedError{
		Err:    errors.New("it applies its objects to another cluster (" + by + "), so they are not in this one"),
		Advice: "name the objects, and select their cluster with --context",
	}
}

// errNothing means that the tool has not applied anything yet, or that its inventory is empty.
var errNothing error = &object.HintedError{
	Err:    errors.New("it has no inventory yet"),
	Advice: "its status lists objects only after its first successful run: check whether it is ready",
}

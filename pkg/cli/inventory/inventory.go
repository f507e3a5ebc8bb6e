// Package inventory lists the objects that a tool applies: a Helm release, read from its Secret
// without Helm; a Kustomization or a HelmRelease of Flux; an Application of Argo CD.
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

// Of names an object with an inventory.
type Of struct {
	Namespace, Name string
	tool            tool
}

// tool is a kind with an inventory.
type tool struct {
	kind schema.GroupKind
	// words are its names in a flag, as kubectl knows them.
	words []string
	// manager is its field manager.
	manager string
	// render is a command that prints its manifests, with NAMESPACE and NAME as placeholders.
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

// Kinds returns one word for each kind with an inventory.
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
	return Of{}, fmt.Errorf("%q: no inventory is known of %s: use %s", text, parts[0], strings.Join(Kinds(), ", "))
}

// String returns the object as it is written in a flag.
func (o Of) String() string { return o.tool.words[0] + "/" + o.Namespace + "/" + o.Name }

// Kind returns the kind of the object.
func (o Of) Kind() schema.GroupKind { return o.tool.kind }

// Manager returns the tool's field manager.
func (o Of) Manager() string { return o.tool.manager }

// Render returns the command that prints the manifests that the tool applies next.
func (o Of) Render() string {
	return strings.NewReplacer("NAMESPACE", o.Namespace, "NAME", o.Name).Replace(o.tool.render)
}

// Contents are the objects that a tool says it applies.
type Contents struct {
	// Objects have the version at which the tool last applied them.
	Objects []object.Ref
	// Release is the Helm release behind it, if any; Objects is empty then.
	Release *Release
}

// Release names a Helm release: the namespace of its storage, and its name.
type Release struct{ Namespace, Name string }

// Read returns the inventory of a live object.
func (o Of) Read(live *unstructured.Unstructured) (Contents, error) {
	contents, err := o.tool.read(live.Object)
	if err != nil {
		return contents, fmt.Errorf("%s: %w", o, err)
	}
	return contents, nil
}

// elsewhere says that the tool applies to another cluster.
func elsewhere(by string) error {
	return &object.HintedError{
		Err:    errors.New("it applies to another cluster (" + by + "), so its objects are not here"),
		Advice: "name the objects themselves, with --context of the cluster that has them",
	}
}

// errNothing: the tool has not applied anything yet, or does not list it.
var errNothing error = &object.HintedError{
	Err:    errors.New("it has no inventory yet"),
	Advice: "its status lists what it applied only after its first successful run: see whether it is ready",
}

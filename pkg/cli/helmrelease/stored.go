// Package helmrelease reads stored Helm releases and the objects in their manifests, for the verbs
// that select or examine a release.
package helmrelease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Server is the part of the API client that reads releases and resolves the kinds of their objects.
type Server interface {
	Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
}

// Place is a kind of object in which Helm can store releases, with the field selector that excludes
// most other objects of the kind.
type Place struct {
	Kind   schema.GroupVersionKind
	Fields string
	Driver string
}

// Places returns the kinds in which Helm can store releases: Secrets, and ConfigMaps if
// HELM_DRIVER=configmap. Releases in a SQL database cannot be read.
func Places() []Place {
	return []Place{
		{corev1.SchemeGroupVersion.WithKind("Secret"), "type=" + inventory.SecretType, inventory.InSecrets},
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "", inventory.InConfigMaps},
	}
}

// NotFoundError reports that a release is not installed.
type NotFoundError struct {
	inventory.Release
	// Kept is the newest revision in the history that an uninstalled release has left; 0 if there is none.
	Kept int
}

// NotInstalled returns the error for a release of which at most the history is stored. kept is the newest
// revision of the history; nil if there is none.
func NotInstalled(named inventory.Release, kept *unstructured.Unstructured) *NotFoundError {
	out := &NotFoundError{Release: named}
	if kept != nil {
		out.Namespace = kept.GetNamespace()
		out.Kept, _ = strconv.Atoi(kept.GetLabels()["version"])
	}
	return out
}

func (e *NotFoundError) Error() string {
	if e.Kept > 0 {
		return fmt.Sprintf("Helm release %s/%s is uninstalled: only its history is kept, up to revision %d", e.Namespace, e.Name, e.Kept)
	}
	return fmt.Sprintf("Helm release %s/%s not found", e.Namespace, e.Name)
}

// Hint names the command that lists releases, or the one that shows the history.
func (e *NotFoundError) Hint() string {
	if e.Kept > 0 {
		return fmt.Sprintf("see: helm history %s -n %s; helm upgrade --install uses the name again", text.ShellQuote(e.Name), text.ShellQuote(e.Namespace))
	}
	return "helm list -A shows all releases. Those that Helm stores in a database cannot be read"
}

// IsKept reports whether a release is uninstalled, and revision is the newest one of its history.
func IsKept(revision *unstructured.Unstructured) bool {
	return revision.GetLabels()["status"] == "uninstalled"
}

// Find returns the stored revisions of one installed release, or a *NotFoundError. It reads ConfigMaps only
// if no Secret stores the release or, as Helm does, if HELM_DRIVER=configmap.
func Find(ctx context.Context, server Server, named inventory.Release) (inventory.Revisions, error) {
	which := object.Selection{Namespace: named.Namespace, Labels: inventory.Labels(named.Name)}
	places := Places()
	if strings.HasPrefix(os.Getenv("HELM_DRIVER"), inventory.InConfigMaps) { // Helm accepts the plural, too.
		slices.Reverse(places)
	}
	var kept *unstructured.Unstructured
	for i, place := range places {
		all := inventory.Stored{}
		err := server.Select(ctx, place.Kind, which, place.Fields, all.Add)
		switch {
		case i > 0 && apierrors.IsForbidden(err): // Secrets, the usual place, have no such release.
		case err != nil:
			return inventory.Revisions{}, err
		}
		switch found := all[inventory.StoredRelease{Release: named, Driver: place.Driver}]; {
		case found.Last == nil:
		case IsKept(found.Last):
			kept = cmp.Or(kept, found.Last)
		default:
			return found, nil
		}
	}
	return inventory.Revisions{}, NotInstalled(named, kept)
}

// Refused returns the reason why Helm refuses to upgrade a release after its newest revision; nil if
// there is none (prepareUpgrade in helm/helm, pkg/action/upgrade.go).
func Refused(last inventory.HelmRelease) error {
	status := last.Info.Status
	switch {
	case strings.HasPrefix(status, "pending-"):
		return object.Hinted(fmt.Sprintf("if no helm command is running, see: helm history %s -n %s", last.Name, last.Namespace),
			"Helm refuses to upgrade while another operation is in progress: revision %d is %s", last.Version, status)
	case strings.HasPrefix(status, "uninstall"):
		return fmt.Errorf("revision %d is %s", last.Version, status)
	}
	return nil
}

// Reused returns the reason why Helm refuses a release whose name an uninstalled one still has, because its
// history was kept (availableName in helm/helm, pkg/action/install.go).
func Reused(last *unstructured.Unstructured) error {
	return object.Hinted("helm upgrade --install or helm install --replace uses the name again",
		"revision %s is uninstalled, but its history is kept: helm install and helm upgrade refuse the name", last.GetLabels()["version"])
}

// Object is an object of a release as Helm applies it.
type Object struct {
	Kind     object.Kind
	Ref      object.Ref
	Declared *unstructured.Unstructured
}

// Objects returns the objects in the manifest of a release, except hooks. It decodes the manifest as Helm
// does, and leaves what a chart has copied from a cluster: Helm sends this, too, and the server refuses some
// of it. Its error joins one error for each object that is invalid or whose kind is not served; the other
// objects are returned. The Ref of an object with generateName has no name.
func Objects(ctx context.Context, server Server, secrets manifest.Secrets, release inventory.HelmRelease) ([]Object, error) {
	read, err := manifest.Read(ctx, manifest.Options{Filenames: []string{"-"}, In: strings.NewReader(release.Manifest), InName: release.Source, Secrets: secrets, Unnamed: true, Lenient: true, AsIs: true})
	var out []Object
	var faults []error
	if err != nil {
		faults = append(faults, err)
	}
	for _, m := range read.Objects {
		kind, err := server.Kind(ctx, m.Object.GroupVersionKind())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		declared := release.Applied(m.Object)
		if kind.Namespaced && declared.GetNamespace() == "" {
			declared.SetNamespace(release.Namespace)
		}
		ref := object.RefOf(declared)
		ref.GVK = kind.GVK
		out = append(out, Object{Kind: kind, Ref: ref, Declared: declared})
	}
	return out, errors.Join(faults...)
}

// ErrUnnamed reports an object with generateName (update in helm/helm, pkg/kube/client.go).
var ErrUnnamed error = &object.HintedError{
	Err:    errors.New("it has generateName and no name: Helm refuses to apply it server-side, and to upgrade it"),
	Advice: "set metadata.name in the chart, or make the object a hook",
}

// ChartOutputFlag is the flag that names a file with the output of helm template, or of helm upgrade
// with --dry-run.
const ChartOutputFlag = "chart-output"

// ChartOutput is a source of chart output.
type ChartOutput func() (io.ReadCloser, error)

// Open returns the chart output in a file, or on standard input if the name is "-".
func Open(name string, in io.Reader) ChartOutput {
	return func() (io.ReadCloser, error) {
		if name == "-" {
			return io.NopCloser(in), nil
		}
		return os.Open(name)
	}
}

// Manifest reads the manifest in the chart output.
func (open ChartOutput) Manifest() (string, error) {
	const most = 64 << 20
	r, err := open()
	if err != nil {
		return "", fmt.Errorf("--%s: %w", ChartOutputFlag, err)
	}
	defer func() { _ = r.Close() }()
	raw, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--%s: %w", ChartOutputFlag, err)
	case len(raw) > most:
		return "", fmt.Errorf("--%s: larger than 64 MB", ChartOutputFlag)
	}
	return inventory.ChartManifest(string(raw)), nil
}

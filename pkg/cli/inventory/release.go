package inventory

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Manager is Helm's field manager.
const Manager = "helm"

// SecretType is the type of the Secrets in which Helm stores releases.
const SecretType = "helm.sh/release.v1"

// HelmRelease is one revision of a release.
type HelmRelease struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	// Manifest is the rendered manifest, without hooks.
	Manifest string `json:"manifest"`
	// ApplyMethod is how Helm 4 wrote the revision, and will write the next one unless the
	// user chooses another. Helm 3 has no such field.
	ApplyMethod string `json:"apply_method"`
	Info        struct {
		Status string `json:"status"`
	} `json:"info"`
	// Source names the manifest in messages.
	Source string `json:"-"`
}

// ServerSide is the [HelmRelease.ApplyMethod] of server-side apply.
const ServerSide = "ssa"

// Applies reports whether the next upgrade uses server-side apply by default. As in Helm 4, a
// release without an apply method, such as one of Helm 3, does not.
func (r HelmRelease) Applies() bool { return r.ApplyMethod == ServerSide }

// ChartManifest returns the manifest in the output of helm template, or of helm install or upgrade
// with --dry-run, which prints headings, hooks and notes around it.
func ChartManifest(output string) string {
	const manifest, notes = "\nMANIFEST:\n", "\nNOTES:\n"
	output = strings.ReplaceAll(output, "\r\n", "\n")
	_, after, found := strings.Cut("\n"+output, manifest)
	if !found {
		return output
	}
	if i := strings.LastIndex(after, notes); i >= 0 {
		after = after[:i+1]
	}
	return after
}

// Labels returns the selector for the Secrets of a release.
func Labels(name string) string { return "owner=helm,name=" + name }

// BrokenError reports that a Secret or ConfigMap does not contain the expected release.
type BrokenError struct {
	// Kind is "secret" or "configmap".
	Kind, Name, Namespace, Release, Revision string
	Err                                      error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("revision %s (%s/%s -n %s) cannot be read: %v", e.Revision, e.Kind, e.Name, e.Namespace, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Hint names the command that shows whether Helm can read the revisions.
func (e *BrokenError) Hint() string {
	return fmt.Sprintf("see: helm history %s -n %s", e.Release, e.Namespace)
}

// ErrNoManifest reports that a release contains no objects, except perhaps hooks.
var ErrNoManifest = errors.New("it contains no manifest")

// Decode reads a release from its Secret or ConfigMap. Any error is a *BrokenError. With [ErrNoManifest],
// the release is returned, too.
func Decode(stored *unstructured.Unstructured) (HelmRelease, error) {
	out, err := decode(stored)
	if err == nil {
		return out, nil
	}
	if !errors.Is(err, ErrNoManifest) {
		out = HelmRelease{}
	}
	labels := stored.GetLabels()
	return out, &BrokenError{
		Kind: strings.ToLower(cmp.Or(stored.GetKind(), "Secret")), Name: stored.GetName(), Namespace: stored.GetNamespace(),
		Release: labels["name"], Revision: labels["version"], Err: err,
	}
}

func decode(stored *unstructured.Unstructured) (HelmRelease, error) {
	out, err := unpack(stored)
	name := stored.GetLabels()["name"]
	switch {
	case err != nil:
	case name != "" && out.Name != name: // Perhaps a copy whose labels were edited.
		err = fmt.Errorf("it contains another release: %q", out.Name)
	case out.Namespace == "":
		err = errors.New("it does not contain the namespace of the release")
	case strings.TrimSpace(out.Manifest) == "":
		err = ErrNoManifest
	}
	out.Source = fmt.Sprintf("revision %d", out.Version)
	return out, err
}

// Caution returns the reason why the live objects might differ from the manifest; empty if Helm
// finished the release.
func (r HelmRelease) Caution() string {
	switch status := r.Info.Status; {
	case strings.HasPrefix(status, "pending-"):
		return fmt.Sprintf("Helm has not finished revision %d (%s), so some objects may match an earlier revision", r.Version, status)
	case strings.HasPrefix(status, "uninstall"):
		return fmt.Sprintf("revision %d is %s, so its objects may be gone", r.Version, status)
	}
	return ""
}

func unpack(stored *unstructured.Unstructured) (HelmRelease, error) {
	var out HelmRelease
	text, found, err := unstructured.NestedString(stored.Object, "data", "release")
	if err != nil || !found {
		return out, errors.New("it contains no release")
	}
	raw := []byte(text)
	if stored.GetKind() != "ConfigMap" { // The values of a Secret are base64 in JSON.
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err == nil {
		raw, err = base64.StdEncoding.DecodeString(string(raw)) // as written by Helm
	}
	if err != nil {
		return out, fmt.Errorf("it is not base64: %w", err)
	}
	if raw, err = plain(raw); err != nil {
		return out, err
	}
	switch {
	case len(raw) == 0:
		return out, errors.New("it is empty")
	case json.Unmarshal(raw, &out) != nil:
		return out, errors.New("it is not JSON") // The error would quote the content, which may be secret.
	}
	return out, nil
}

// plain returns the uncompressed data of a release. It also accepts data that is not compressed, as
// in the oldest releases.
func plain(raw []byte) ([]byte, error) {
	const most = 64 << 20 // A Secret holds at most 1 MB, and no manifest shrinks to 1/64 of its size.
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its compressed data is damaged: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its compressed data is damaged: %w", err)
	case len(out) > most:
		return nil, errors.New("it is larger than 64 MB")
	}
	return out, nil
}

// Applied returns an object of the manifest with the label and annotations that Helm adds.
func (r HelmRelease) Applied(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	u := rendered.DeepCopy()
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = r.Name
	annotations["meta.helm.sh/release-namespace"] = r.Namespace
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

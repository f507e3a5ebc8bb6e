package give

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// released returns the objects of a release: those of its stored manifest, or of the chart output.
func (o *scope) released(
	ctx context.Context, c *connection.Connection, server *client.Client, next nextRun, emit func(event.Event),
) ([]give.Target, error) {
	named := *o.release
	of := fmt.Sprintf("the release %s/%s", named.Namespace, named.Name)
	release, err := stored(ctx, server, named)
	source := fmt.Sprintf("the stored manifest (revision %d)", release.Version)
	if o.chart != nil {
		source = "the chart output"
		switch {
		case errors.As(err, new(*noReleaseError)):
			// The first install of a chart is server-side, too, and may take over existing objects.
			release = inventory.HelmRelease{Name: named.Name, Namespace: named.Namespace, ApplyMethod: inventory.ServerSide}
			err = nil
		case errors.Is(err, inventory.ErrNoManifest):
			err = nil
		}
		if err == nil {
			release.Manifest, err = o.rendered()
		}
	}
	if errors.As(err, new(*noReleaseError)) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	if caution := release.Caution(); caution != "" && o.chart == nil {
		emit(event.Warned{Text: of + ": " + text.Printable(caution)})
	}
	if !release.Applies() {
		emit(event.Warned{Text: of + " is upgraded client-side: helm upgrade overwrites other owners' values without a conflict, unless you pass --server-side=true"})
	}
	targets, err := targetsOf(ctx, c, server, release)
	if err != nil {
		return nil, fmt.Errorf("the manifest of %s: %w", of, err)
	}
	if o.chart != nil {
		if targets, err = existing(ctx, server, targets); err != nil {
			return nil, err
		}
	}
	if !next.known {
		for i := range targets {
			targets[i].Manifest = source
		}
	}
	return next.declared(ctx, server, targets, of, release.Applied, emit)
}

// noReleaseError reports that no revision of a release is stored.
type noReleaseError struct{ inventory.Release }

func (e *noReleaseError) Error() string {
	return fmt.Sprintf("Helm release %s/%s not found", e.Namespace, e.Name)
}

func (*noReleaseError) Hint() string {
	return "helm list -A shows all releases. If Helm does not store them in Secrets, they cannot be read: use -f with their manifests and --to=helm"
}

func stored(ctx context.Context, server *client.Client, named inventory.Release) (inventory.HelmRelease, error) {
	secrets := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	all := inventory.Stored{}
	err := server.Select(ctx, secrets, object.Selection{Namespace: named.Namespace, Labels: inventory.Labels(named.Name)}, "", all.Add)
	if err != nil {
		return inventory.HelmRelease{}, err
	}
	// The newest revision may have failed, but Helm has applied part of it.
	newest := all[named].Last
	if newest == nil {
		return inventory.HelmRelease{}, &noReleaseError{named}
	}
	return inventory.Decode(newest)
}

// rendered reads the chart output.
func (o *scope) rendered() (string, error) {
	const most = 64 << 20
	r, err := o.chart()
	if err != nil {
		return "", fmt.Errorf("--%s: %w", chartOutputFlag, err)
	}
	defer func() { _ = r.Close() }()
	raw, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--%s: %w", chartOutputFlag, err)
	case len(raw) > most:
		return "", fmt.Errorf("--%s: larger than 64 MB", chartOutputFlag)
	}
	return inventory.ChartManifest(string(raw)), nil
}

func targetsOf(ctx context.Context, c *connection.Connection, server *client.Client, release inventory.HelmRelease) ([]give.Target, error) {
	read, err := manifest.Read(ctx, manifest.Options{Filenames: []string{"-"}, In: strings.NewReader(release.Manifest), Secrets: c.Vault})
	if err != nil {
		return nil, err
	}
	as := managedfields.Update
	if release.Applies() {
		as = managedfields.Apply
	}
	var targets []give.Target
	var faults []error
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
		targets = append(targets, give.Target{Kind: kind, Ref: ref, Declared: declared, As: as})
	}
	return targets, errors.Join(faults...)
}

// existing drops the objects that the next upgrade creates, because their fields have no owner yet.
func existing(ctx context.Context, server *client.Client, targets []give.Target) ([]give.Target, error) {
	var out []give.Target
	for _, t := range targets {
		_, err := server.Get(ctx, t.Kind, t.Ref)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Ref, err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, errors.New("no object in the chart output exists yet")
	}
	return out, nil
}

// opener returns a function that opens a file, or standard input if the name is "-".
func opener(name string, in io.Reader) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if name == "-" {
			return io.NopCloser(in), nil
		}
		return os.Open(name)
	}
}

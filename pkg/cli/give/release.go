package give

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// released returns the objects of a release: those of its stored manifest, or of the chart output.
func (o *scope) released(
	ctx context.Context, c *connection.Connection, server *client.Client, next nextRun, emit func(event.Event),
) ([]give.Target, error) {
	named := *o.release
	of := fmt.Sprintf("the release %s/%s", named.Namespace, named.Name)
	var release inventory.HelmRelease
	// The newest revision may have failed, but Helm has applied part of it.
	revisions, err := helmrelease.Find(ctx, server, named)
	migrates := true
	if err == nil {
		release, err = inventory.Decode(revisions.Last)
		migrates = err == nil && isClientSide(revisions.Base())
	}
	source := fmt.Sprintf("the stored manifest (revision %d)", release.Version)
	if o.chart != nil {
		source = "the chart output"
		switch {
		case errors.As(err, new(*helmrelease.NotFoundError)):
			// The first install of a chart is server-side, too, and may take over existing objects.
			release = inventory.HelmRelease{Name: named.Name, Namespace: named.Namespace, ApplyMethod: inventory.ServerSide}
			err = nil
		case errors.Is(err, inventory.ErrNoManifest):
			err = nil
		}
		if err == nil {
			release.Source = source
			release.Manifest, err = o.chart.Manifest()
		}
	}
	if missing, is := errors.AsType[*helmrelease.NotFoundError](err); is {
		advice := object.HintOf(err) + ": use -f with their manifests and --to=" + inventory.Manager
		if missing.Kept > 0 {
			advice = "objects that Helm has kept: use -f with their manifests and --to=" + inventory.Manager
		}
		return nil, &object.HintedError{Err: err, Advice: advice}
	}
	if errors.As(err, new(*inventory.BrokenError)) {
		err = &object.HintedError{Err: err, Advice: otherRevision(named)}
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
	for i := range targets {
		targets[i].Migrates = migrates
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

// isClientSide reports whether a revision was applied client-side. Then a server-side upgrade, and the first install,
// move the fields of Helm's updates to what Helm applies (upgradeClientSideFieldManager in helm/helm,
// pkg/kube/client.go).
func isClientSide(base *unstructured.Unstructured) bool {
	release, err := inventory.Decode(base)
	return (err == nil || errors.Is(err, inventory.ErrNoManifest)) && !release.Applies()
}

// otherRevision is the advice for a release whose newest revision cannot be read.
func otherRevision(of inventory.Release) string {
	return fmt.Sprintf("use the manifest of another revision: helm get manifest %s -n %s --revision=N | %s -n %s -f - --to=%s, with the same --from. See: helm history %s -n %s",
		of.Name, of.Namespace, command.Kubectl("k8sconnect", "give"), of.Namespace, inventory.Manager, of.Name, of.Namespace)
}

func targetsOf(ctx context.Context, c *connection.Connection, server *client.Client, release inventory.HelmRelease) ([]give.Target, error) {
	objects, err := helmrelease.Objects(ctx, server, c.Vault, release)
	if err != nil {
		return nil, err
	}
	as := managedfields.Update
	if release.Applies() {
		as = managedfields.Apply
	}
	targets := make([]give.Target, len(objects))
	for i, o := range objects {
		if o.Ref.Name == "" {
			return nil, fmt.Errorf("%s: %w", o.Ref, helmrelease.ErrUnnamed)
		}
		targets[i] = give.Target{Kind: o.Kind, Ref: o.Ref, Declared: o.Declared, As: as, Validation: metav1.FieldValidationStrict}
	}
	return targets, nil
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

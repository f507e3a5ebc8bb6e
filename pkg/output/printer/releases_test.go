package printer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func forecast() event.Releases {
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	conflicts := []event.ObjectConflicts{{Ref: web, Conflicts: []managedfields.Conflict{{
		Path: fieldpath.Field("spec", "replicas"), Yours: int64(2), Live: int64(5), HasLive: true,
		Owners: []managedfields.Owner{{Manager: "kubectl", Operation: "Update", Subresource: "scale"}},
	}}}}
	release := event.Release{
		Namespace: "shop", Name: "web", Revision: 3, Manager: "helm", ServerSide: true, Objects: 12, Forecast: event.UpgradeFails,
		Conflicts: conflicts, Next: []string{"kubectl k8sconnect give --helm-release=shop/web --from=kubectl"}, Gone: []object.Ref{web},
		Foreign: []event.ForeignObject{{Ref: web, Owner: "Helm release shop/other"}},
	}
	old := release
	old.Name, old.ServerSide, old.Forecast, old.Overwrites, old.Gone, old.Foreign = "old", false, event.UpgradeReady, conflicts, nil, nil
	dark := event.Release{Namespace: "shop", Name: "dark", Revision: 1, Manager: "helm", Objects: 1, Forecast: event.UpgradeUnknown, Unread: []event.Unread{{Ref: web, Err: errors.New("no")}}}
	return event.Releases{Namespace: "shop", Found: []event.Release{dark, old, release}}
}

// odd are releases that other programs upgrade, and one with fields that an upgrade removes or leaves.
func odd() event.Releases {
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	scale := managedfields.Owner{Manager: "kube-controller-manager", Operation: "Update", Subresource: "scale"}
	removes := []event.ObjectConflicts{{Ref: web, Conflicts: []managedfields.Conflict{
		{Path: fieldpath.Field("metadata", "labels", "a"), Live: "b", HasLive: true, Owners: []managedfields.Owner{{Manager: "kubectl-label", Operation: "Update"}}},
		{Path: fieldpath.Field("spec", "replicas"), Yours: int64(1), Live: int64(5), HasLive: true, Owners: []managedfields.Owner{scale}},
	}}}
	flux := event.Release{Namespace: "shop", Name: "flux", Revision: 1, Manager: "helm-controller", Flux: true, ServerSide: true, Objects: 1, Forecast: event.UpgradeReady}
	k3s := event.Release{Namespace: "shop", Name: "k3s", Revision: 1, Manager: "terraform-provider-helm", ServerSide: true, Objects: 1, Forecast: event.UpgradeReady}
	client := event.Release{
		Namespace: "shop", Name: "web", Revision: 3, Manager: "helm", Objects: 1, Forecast: event.UpgradeReady, Removes: removes,
		Leftovers: []event.Leftover{
			{Ref: web, Paths: []fieldpath.Path{fieldpath.Field("metadata", "labels", "x"), fieldpath.Field("spec", "paused")}, Revision: 2},
			{Ref: web, Paths: []fieldpath.Path{fieldpath.Field("spec", "minReadySeconds")}, Revision: 2, Listed: true, Stays: true},
		},
	}
	return event.Releases{Found: []event.Release{flux, k3s, client}}
}

func TestReleasesOfOtherPrograms(t *testing.T) {
	const want = `shop/flux   server-side, by Flux                      revision 1   1 object   ready
    Flux upgrades it and forces conflicts; helm upgrade by hand would conflict with helm-controller in fields that it changes
shop/k3s    server-side, by terraform-provider-helm   revision 1   1 object   ready
    terraform-provider-helm has applied it so far; an upgrade by another program, such as helm, would conflict with it in fields that it changes
shop/web    client-side                               revision 3   1 object   removes 2 fields of other owners
    deployment.apps/web -n shop
      removes  .metadata.labels.a  owned by kubectl-label (Update)
      removes  .spec.replicas  5 → 1  owned by kube-controller-manager (scale)
    with --server-side=true, it would keep the fields that it removes
    leftover deployment.apps/web -n shop: only revision 2, which failed, set .metadata.labels.x, .spec.paused; the upgrade leaves them as they are, except with --server-side=true
    leftover deployment.apps/web -n shop: only revision 2, which failed, set .spec.minReadySeconds; if the next manifest lacks it, the upgrade leaves it as it is
3 releases, 3 ready; 1 release removes fields of other owners
`
	got := run(t, printer.OfReleases, output.Options{Now: noon}, []event.Event{odd()}).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for format, wants := range map[string][]string{
		output.JSON:     {`"manager": "helm-controller"`, `"flux": true`, `"removes": [`, `"leftovers": [`, `".spec.minReadySeconds"`, `"stays": true`},
		output.Markdown: {"| shop/flux | server-side, by Flux | ready | Flux upgrades it", "| shop/k3s | server-side, by terraform-provider-helm |"},
		output.JUnit:    {"Flux upgrades it and forces conflicts", "terraform-provider-helm has applied it so far"},
	} {
		got := run(t, printer.OfReleases, output.Options{Format: format, Now: noon}, []event.Event{odd()}).out
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s:\n%s", format, want, got)
			}
		}
	}
}

func TestReleasesTable(t *testing.T) {
	const want = `shop/dark   client-side   revision 1   1 object     unknown
    unknown  deployment.apps/web -n shop
      no
shop/old    client-side   revision 3   12 objects   overwrites 1 field of other owners
    deployment.apps/web -n shop
      overwrites  .spec.replicas  5 → 2  owned by kubectl (scale)
    with --server-side=true, it would fail: 1 conflict; --force-conflicts alone is refused
    next  kubectl k8sconnect give --helm-release=shop/web --from=kubectl
shop/web    server-side   revision 3   12 objects   will fail: 1 conflict
    deployment.apps/web -n shop
      conflict  .spec.replicas  5 → 2  owned by kubectl (scale)
    gone     deployment.apps/web -n shop: the upgrade creates it again
    foreign  deployment.apps/web -n shop: it carries the marks of Helm release shop/other
    next  kubectl k8sconnect give --helm-release=shop/web --from=kubectl
in namespace shop: 3 releases, 1 will fail, 1 unknown, 1 ready; 1 release overwrites fields of other owners
`
	got := run(t, printer.OfReleases, output.Options{Now: noon}, []event.Event{forecast()}).out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReleasesDocuments(t *testing.T) {
	for format, wants := range map[string][]string{
		output.JSON: {
			`"kind": "ReleasesResult"`, `"serverSide": true`, `"forecast": "fails"`, `"path": ".spec.replicas"`, `"yours": 2`, `"live": 5`,
			`"owner": "Helm release shop/other"`, `"message": "no"`, `"next": [`,
		},
		output.YAML:     {"kind: ReleasesResult", "forecast: unknown"},
		output.JUnit:    {`<testsuite name="releases" tests="3" failures="1" errors="1" skipped="0">`, `message="will fail: 1 conflict"`},
		output.Markdown: {"| Release | Method | Next upgrade | Details |", "| shop/web | server-side | will fail: 1 conflict |"},
	} {
		got := run(t, printer.OfReleases, output.Options{Format: format, Now: noon}, []event.Event{forecast()}).out
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s:\n%s", format, want, got)
			}
		}
	}
}

package printer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const image = `.spec.template.spec.containers[name="app"].image`

// web is the Deployment of most stories.
func web() object.Ref { return ref("apps/v1", "Deployment", "prod", "web") }

func config(name string) object.Ref { return ref("v1", "ConfigMap", "prod", name) }

func autoscaler() managedfields.Owner {
	return managedfields.Owner{Manager: "kube-controller-manager", Operation: "Update", Subresource: "scale"}
}

func editor() managedfields.Owner {
	return managedfields.Owner{Manager: "kubectl-edit", Operation: "Update", Time: ago(time.Hour)}
}

func flux() managedfields.Owner {
	return managedfields.Owner{Manager: "flux", Operation: "Apply", Time: ago(72 * time.Hour)}
}

// contractConflict is the conflict that the contract shows.
func contractConflict(t *testing.T) event.Applied {
	return event.Applied{Ref: web(), Action: event.InConflict, Conflicts: []managedfields.Conflict{
		{
			Path: path(t, ".spec.replicas"), Yours: int64(3), Live: int64(5), HasLive: true,
			Owners: []managedfields.Owner{autoscaler()},
		},
		{
			Path: path(t, image), Yours: "app:1.2", Live: "app:1.1", HasLive: true,
			Owners: []managedfields.Owner{editor()},
		},
	}}
}

// forbidden is an error from the API server.
func forbidden(name string) error {
	resource := schema.GroupResource{Resource: "services"}
	return fmt.Errorf("apply service/%s -n prod: %w", name,
		apierrors.NewForbidden(resource, name, errors.New("admission webhook denied it:\n\tno owner label\n\x1b[31mred\x1b[0m")))
}

// applyStory has every kind of event of an apply. Its last phase has conflicts, so nothing in it
// was written.
func applyStory(t *testing.T) []event.Event {
	settings, tls, db := config("settings"), config("tls"), ref("v1", "Service", "prod", "db")
	prod := ref("v1", "Namespace", "", "prod")
	api, job := ref("apps/v1", "Deployment", "prod", "api"), ref("batch/v1", "Job", "prod", "migrate")
	return []event.Event{
		event.Planned{Phases: []event.Phase{
			{Name: "namespaces", Total: 1, Refs: []object.Ref{prod}},
			{Name: "configuration", Total: 4, Refs: []object.Ref{settings, tls, config("same"), db}},
			{Name: "workloads", Total: 3, Refs: []object.Ref{web(), api, job}},
		}},
		event.PhaseStarted{Index: 0},
		event.Started{Ref: prod},
		event.Applied{Ref: prod, Action: event.Created, Source: object.Source{File: "prod.yaml", Line: 1}},
		event.PhaseStarted{Index: 1},
		event.Waiting{Ref: prod, For: "it to be served"},
		event.Started{Ref: settings},
		event.Started{Ref: db},
		event.Warned{Ref: db, Text: `unknown field "spec.prots"`},
		event.Warned{Ref: settings, Text: "deprecated"},
		event.Warned{Ref: tls, Text: "deprecated"},
		event.Warned{Ref: tls, Text: "deprecated"},
		event.Warned{Text: "the server is older than this program"},
		event.Retrying{Ref: db, Err: apierrors.NewTooManyRequests("slow down", 2), In: 2 * time.Second, Left: 20 * time.Second},
		event.Applied{
			Ref: db, Action: event.Failed, Source: object.Source{File: "db.yaml", Line: 12},
			Err: hinted{forbidden("db"), "ask who runs the webhook"},
		},
		event.Applied{Ref: config("same"), Action: event.Unchanged},
		event.Applied{
			Ref: settings, Action: event.Configured,
			Removed: []managedfields.Change{
				{Path: path(t, `.data["app.conf"]`), From: "a=1\nb=2\n", Kind: managedfields.Removed},
				{Path: path(t, ".data.plain"), From: "x", Kind: managedfields.Removed},
			},
			Released: []managedfields.Change{
				{Path: path(t, ".metadata.labels.team"), From: "x", To: "x", Kind: managedfields.Released, Owners: []managedfields.Owner{flux()}},
			},
			Taken: []managedfields.Change{
				{Path: path(t, ".data.level"), From: "5", To: "3", Kind: managedfields.Contested, Owners: []managedfields.Owner{editor(), flux()}},
			},
			Yielded: []fieldpath.Path{path(t, ".data.size")},
			Adopted: []string{"kubectl-client-side-apply"},
		},
		event.Applied{Ref: tls, Action: event.Created},
		event.PhaseStarted{Index: 2},
		event.Applied{Ref: job, Action: event.Skipped, Err: errors.New("other objects of its phase are in conflict")},
		contractConflict(t),
		event.Applied{Ref: api, Action: event.InConflict, Conflicts: []managedfields.Conflict{
			{Path: path(t, ".metadata.labels.tier"), Yours: "a b", Owners: []managedfields.Owner{flux(), editor()}},
			{
				Path: path(t, `.metadata.annotations["example.com/notes"]`), Yours: "one\ntwo\nthree", Live: "one\ntoo\nthree\nfour", HasLive: true,
				Owners: []managedfields.Owner{editor()},
			},
			{Path: path(t, ".spec.paused"), Yours: true, HasLive: true, Owners: []managedfields.Owner{editor()}},
		}},
		event.Applied{Ref: config("left"), Action: event.Pruned, Departed: true},
		event.Applied{Ref: config("held"), Action: event.Remains, Departed: true, Causes: []event.Cause{{Code: "FinalizerUnknown", Message: "its finalizer is unknown"}}},
		event.Applied{Ref: config("unseen"), Action: event.Unknown, Departed: true, Err: errors.New("the server did not answer")},
		event.Applied{Ref: config("stays"), Action: event.Kept, Departed: true, Reason: "its annotation k8sconnect.io/prune: disabled keeps it"},
		event.Applied{Ref: config("joins"), Action: event.Unchanged, Joined: &event.Joined{Set: "secret/shop", From: []string{"Helm release prod/web"}}},
	}
}

// diffStory has every kind of event of a diff.
func diffStory(t *testing.T) []event.Event {
	prod, job, secret := ref("v1", "Namespace", "", "prod"), ref("batch/v1", "Job", "prod", "migrate"), ref("v1", "Secret", "prod", "token")
	return []event.Event{
		event.Planned{Phases: []event.Phase{
			{Name: "namespaces", Total: 1, Refs: []object.Ref{prod}},
			{Name: "configuration", Total: 4, Refs: []object.Ref{config("new"), config("same"), config("handed"), secret}},
			{Name: "workloads", Total: 2, Refs: []object.Ref{web(), job}},
		}},
		event.PhaseStarted{Index: 0},
		event.Compared{
			Ref: prod, Action: event.Create, After: named("Namespace", "prod"),
			Changes: []managedfields.Change{{Path: path(t, ".metadata.name"), To: "prod", Kind: managedfields.Added}},
		},
		event.PhaseStarted{Index: 1},
		event.Compared{Ref: secret, Action: event.Delete, Before: map[string]any{"data": map[string]any{"token": "***"}}},
		event.Warned{Ref: secret, Text: "deprecated"},
		event.Compared{
			Ref: config("new"), Action: event.Create, After: named("ConfigMap", "new"),
			Reason: "namespace prod is created by this set: not checked by the server",
		},
		event.Compared{Ref: config("same"), Action: event.None},
		event.Compared{
			Ref: config("handed"), Action: event.Update,
			Before: map[string]any{"data": map[string]any{"a": "1"}}, After: map[string]any{"data": map[string]any{"a": "1"}},
			Changes: []managedfields.Change{
				{Path: path(t, ".data.a"), From: "1", To: "1", Kind: managedfields.Released, Owners: []managedfields.Owner{flux(), editor()}},
			},
		},
		event.PhaseStarted{Index: 2},
		event.Compared{Ref: job, Action: event.Unknown, Err: hinted{fmt.Errorf("compare %s: %w", job, forbidden("migrate")), "ask for the right to patch jobs"}},
		event.Compared{
			Ref: web(), Action: event.Update, Before: deployment(int64(5), "app:1.1", "y"), After: deployment(int64(3), "app:1.2", nil),
			Changes: []managedfields.Change{
				{Path: path(t, ".metadata.labels.old"), From: "y", Kind: managedfields.Removed},
				{Path: path(t, ".spec.replicas"), From: int64(5), To: int64(3), Kind: managedfields.Contested, Owners: []managedfields.Owner{autoscaler()}},
				{Path: path(t, ".spec.selector"), From: nil, To: map[string]any{"app": "web"}, Kind: managedfields.Changed, Atomic: true},
				{Path: path(t, image), From: "app:1.1", To: "app:1.2", Kind: managedfields.Changed},
			},
		},
	}
}

func named(kind, name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}
}

func deployment(replicas, image, label any) map[string]any {
	labels := map[string]any{"app": "web"}
	if label != nil {
		labels["old"] = label
	}
	container := map[string]any{"name": "app", "image": image, "args": []any{"--title", "a\u202eb"}}
	return map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{
			"replicas": replicas,
			"template": map[string]any{"spec": map[string]any{"containers": []any{container}}},
		},
	}
}

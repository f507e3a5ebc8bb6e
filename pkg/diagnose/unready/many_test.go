package unready_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// crowd is a scene with many objects.
type crowd struct {
	scene
	objects []*unstructured.Unstructured
}

func (c *crowd) Watch(ctx context.Context, _ object.Kind, _ object.Selection, report func(object.Change)) error {
	for _, u := range c.objects {
		report(object.Present{Object: u.DeepCopy()})
	}
	report(object.Synced{})
	<-ctx.Done()
	return context.Cause(ctx)
}

// Of two hundred Deployments, fifty are stuck. Each of them is explained soon, and all explanations
// together stay within the budget of requests.
func TestFiftyStuckDeployments(t *testing.T) {
	const all, hanging = 200, 50
	c := &crowd{scene: scene{reader: &teller{}}}
	var targets []wait.Target
	available, err := condition.Parse("condition=Available")
	if err != nil {
		t.Fatal(err)
	}
	goal := &wait.Goal{For: []condition.Spec{available}}
	deployments := object.Kind{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Resource: "deployments", Namespaced: true}
	for i := range all {
		state, status := "{waiting: {reason: InvalidImageName}}", "False"
		if i >= hanging {
			state, status = "{running: {}}", "True"
		}
		facts := strings.NewReplacer("NAME", fmt.Sprint("web-", i), "STATE", state, "STATUS", status).Replace(
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: prod, uid: d-NAME}, spec: {replicas: 1, selector: {matchLabels: {app: NAME}}}, status: {conditions: [{type: Available, status: "STATUS"}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: NAME-1, namespace: prod, uid: rs-NAME, labels: {app: NAME}, ownerReferences: [{kind: Deployment, name: NAME, uid: d-NAME, controller: true}]}, spec: {replicas: 1, selector: {matchLabels: {app: NAME}}}, status: {replicas: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: NAME-1-a, namespace: prod, uid: p-NAME, labels: {app: NAME}, ownerReferences: [{kind: ReplicaSet, name: NAME-1, uid: rs-NAME, controller: true}]}, spec: {nodeName: node-1, containers: [{name: app, image: "registry.example/App"}]}, status: {phase: Pending, containerStatuses: [{name: app, state: STATE}]}}`)
		objects := diagnosetest.Read(t, facts)
		c.objects, c.reader.Objects = append(c.objects, objects[0]), append(c.reader.Objects, objects...)
		targets = append(targets, wait.Target{
			Selection: object.Selection{Namespace: "prod", Name: objects[0].GetName()}, Kind: deployments, Type: "deployments.apps", Goal: goal,
		})
	}
	first := map[string]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		c.began = time.Now()
		explainer := unready.Explainer{Reader: c, Now: c.now}
		engine := wait.Engine{
			Source: c, Timeout: 3 * time.Minute, StuckAfter: 15 * time.Second,
			Explain: func(ctx context.Context, objects []wait.Stalled) wait.Explanations {
				asked := make([]unready.Asked, len(objects))
				for i, o := range objects {
					asked[i] = unready.Asked{Ref: o.Ref, Moved: o.Moved, Fresh: o.Fresh}
				}
				causes, cost := explainer.Explain(ctx, asked)
				message := wait.Explanations{Causes: causes, Shared: cost.Shared, Again: (cost.Again + len(objects) - 1) / len(objects)}
				for range objects {
					message.Requests = append(message.Requests, (cost.Own+len(objects)-1)/len(objects))
				}
				return message
			},
			Emit: func(e event.Event) {
				if s, ok := e.(event.Stalled); ok {
					first[s.Ref.Name] = time.Since(c.began)
				}
			},
		}
		_ = engine.Run(t.Context(), targets)
	})
	var latest time.Duration
	for _, at := range first {
		latest = max(latest, at)
	}
	if len(first) != hanging || latest > soon {
		t.Errorf("%d of %d are explained, the last after %s", len(first), hanging, latest)
	}
	c.own = nil // These are about fifty objects.
	c.bounded(t)
	t.Logf("%d requests in 3 minutes, the last of %d explained after %s", len(c.all), hanging, latest)
}

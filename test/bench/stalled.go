package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

const (
	// stalledAmong is how many Deployments are waited for, stalledOf how many of them hang;
	// with -short, there are few.
	stalledAmong, stalledOf           = 1000, 50
	stalledAmongShort, stalledOfShort = 20, 5
	// stalledFor is how long the wait lasts.
	stalledFor = "20s"
)

const (
	// stalledEach is how many requests a minute each object that hangs may cost, and
	// stalledRest is enough for the wait itself and its start.
	stalledEach, stalledRest = 10, 40
)

const (
	// refusedStatus is that of a Deployment whose Pods are refused.
	refusedStatus = `{"status":{"observedGeneration":1,"conditions":[
		{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable","message":""},
		{"type":"Progressing","status":"True","reason":"NewReplicaSetCreated","message":""},
		{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":""}]}}`
	// refusedSet is the same of its ReplicaSet.
	refusedSet = `{"status":{"observedGeneration":1,"replicas":0,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate",
		"message":"pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 4"}]}}`
)

func replicaSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
}

// becomeStalled makes all Deployments of the plot ready but the last ones, whose Pods are
// refused: there is no controller that would.
func becomeStalled(ctx context.Context, p *lab.Plot) error {
	order, members, err := p.Collections()
	if err != nil {
		return err
	}
	// Without it, that would be the cause.
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"}}}
	accounts := p.Lab.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(p.Namespace)
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	var work errgroup.Group
	work.SetLimit(8)
	for _, c := range order {
		ready := len(members[c]) - p.Sample.Stalled
		for i, u := range members[c] {
			work.Go(func() error {
				status := lab.ReadyStatus
				if i >= ready {
					status = refusedStatus
				}
				live, err := p.Resource(c).Patch(ctx, u.GetName(), types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
				if err != nil || i < ready {
					return err
				}
				return refused(ctx, p, live)
			})
		}
	}
	return work.Wait()
}

// refused makes the ReplicaSet of a Deployment, which has no Pods.
func refused(ctx context.Context, p *lab.Plot, d *unstructured.Unstructured) error {
	spec := map[string]any{}
	for _, field := range []string{"replicas", "selector", "template"} {
		spec[field], _, _ = unstructured.NestedFieldNoCopy(d.Object, "spec", field)
	}
	yes := true
	set := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec}}
	set.SetName(d.GetName() + "-1")
	set.SetLabels(d.GetLabels())
	set.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: d.GetName(), UID: d.GetUID(), Controller: &yes}})
	sets := p.Lab.Client.Resource(replicaSets()).Namespace(p.Namespace)
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := sets.Patch(ctx, set.GetName(), types.MergePatchType, []byte(refusedSet), metav1.PatchOptions{}, "status")
	return err
}

// firstCause is when the stream of a wait reported the first cause, in seconds from its
// first line. It checks that each object that hangs has had its cause.
func firstCause(p *lab.Plot) (float64, error) {
	log, err := os.Open(p.Lab.Log())
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	var began, first time.Time
	told := map[string]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Time   time.Time
			Type   string
			Object struct {
				Name   string
				Causes []struct{ Code string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // what went to stderr
		}
		if began.IsZero() {
			began = line.Time
		}
		if line.Type == "stalled" && len(line.Object.Causes) > 0 && line.Object.Causes[0].Code == "LimitRangeViolation" {
			if first.IsZero() {
				first = line.Time
			}
			told[line.Object.Name] = true
		}
	}
	if len(told) != p.Sample.Stalled {
		return 0, &lab.OutcomeError{What: fmt.Sprintf("it says why %d objects hang, not %d:\n%s", len(told), p.Sample.Stalled, lab.Tail(p.Lab.Log()))}
	}
	return first.Sub(began).Seconds(), lines.Err()
}

// tooMany reports whether a wait of less than a minute sent more requests than objects
// that hang may cost.
func tooMany(requests, stalled int) error {
	if most := stalledEach*stalled + stalledRest; requests > most {
		return &lab.OutcomeError{What: fmt.Sprintf("%d objects that hang cost %d requests, and may cost %d", stalled, requests, most)}
	}
	return nil
}

// stalledCells measure how long it takes to say why some of many objects hang.
func stalledCells(dir string, o options) ([]cell, error) {
	among, of := stalledAmong, stalledOf
	if o.short {
		among, of = stalledAmongShort, stalledOfShort
	}
	s, err := lab.Generated(dir, "Deployment", among)
	s.Title = fmt.Sprintf("%d stalled among %s", of, strings.TrimSpace(s.Title))
	s.Stalled = of
	var cells []cell
	for _, rtt := range o.rtts {
		cells = append(cells, cell{sample: s, kind: "Deployment", count: among, rtt: rtt, works: []string{workStalled}, repetitions: o.repetitions})
	}
	return cells, err
}

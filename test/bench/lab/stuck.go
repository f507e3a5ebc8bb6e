package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// How many kinds of objects are stuck, and how many of each; with -short, there are few.
const (
	StuckKinds      = 20
	StuckEach       = 10
	StuckKindsShort = 4
	StuckEachShort  = 5
	stuckGroup      = "stuck.bench.example.com"
)

const definitionText = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kind%[1]ds.` + stuckGroup + `}
spec:
  group: ` + stuckGroup + `
  scope: Namespaced
  names: {plural: kind%[1]ds, singular: kind%[1]d, kind: Kind%[1]d, listKind: Kind%[1]dList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// heldText is an object that its finalizer holds, once it is deleted.
const heldText = `---
apiVersion: ` + stuckGroup + `/v1
kind: Kind%d
metadata: {name: held-%d, finalizers: [` + stuckGroup + `/hold]}
`

// deadWebhook has to be asked about every update of them, and has no server behind it.
const deadWebhook = `{
	"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "dead"},
	"webhooks": [{
		"name": "dead.bench.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
		"clientConfig": {"service": {"namespace": "default", "name": "nowhere"}},
		"rules": [{"operations": ["UPDATE"], "apiGroups": ["` + stuckGroup + `"], "apiVersions": ["*"], "resources": ["*"]}]
	}]
}`

// StuckSample has objects of that many kinds, which it defines, whose deletion hangs.
func StuckSample(dir string, kinds, each int) (Sample, error) {
	s := Sample{Title: StuckTitle(kinds, each), Defines: true, Held: kinds * each}
	return Written(dir, s, func(out *bytes.Buffer, _ int) error {
		for kind := range kinds {
			fmt.Fprintf(out, definitionText, kind)
		}
		for kind := range kinds {
			for i := range each {
				fmt.Fprintf(out, heldText, kind, i)
			}
		}
		return nil
	})
}

// StuckTitle is the title of such a sample.
func StuckTitle(kinds, each int) string {
	return fmt.Sprintf("%d terminating objects of %d kinds", kinds*each, kinds)
}

// BecomeStuck deletes the objects of the plot, which then wait for their finalizer,
// and puts a webhook that is down in the way of its removal.
func (p *Plot) BecomeStuck(ctx context.Context) error {
	hook := &unstructured.Unstructured{}
	if err := hook.UnmarshalJSON([]byte(deadWebhook)); err != nil {
		return err
	}
	hooks := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	if _, err := p.Lab.Client.Resource(hooks).Create(ctx, hook, metav1.CreateOptions{}); err != nil {
		return err
	}
	order, members, err := p.Collections()
	if err != nil {
		return err
	}
	for _, c := range order {
		if c.Namespace == "" {
			continue // a definition
		}
		if err := p.Resource(c).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
		if err := p.inForce(ctx, c, members[c][0].GetName()); err != nil {
			return err
		}
	}
	return nil
}

// inForce waits until the API server asks the webhook about updates.
func (p *Plot) inForce(ctx context.Context, c collection, name string) error {
	const pause = 50 * time.Millisecond
	touch := []byte(`{"metadata":{"annotations":{"touched":"yes"}}}`)
	for {
		_, err := p.Resource(c).Patch(ctx, name, types.MergePatchType, touch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInternalError(err) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Explained checks what a tool said about the objects of the plot.
func (p *Plot) Explained() error {
	said, err := os.ReadFile(p.Lab.Log())
	if err != nil {
		return err
	}
	return oneRoot(string(said), p.Sample.Held)
}

// oneRoot checks that the webhook is reported to hold back that many objects, and that
// nothing else is reported to hold any.
func oneRoot(said string, held int) error {
	var result struct {
		Objects []struct{ Name string }
		Roots   []struct {
			Code      string
			Count     int
			BlockedBy struct{ Kind, Name string }
		}
	}
	start := max(strings.Index(said, "{\n"), 0) // after what went to stderr
	if err := json.Unmarshal([]byte(said[start:]), &result); err != nil {
		return &OutcomeError{What: fmt.Sprintf("what it says cannot be read: %v", err)}
	}
	if len(result.Objects) != held || len(result.Roots) != 1 {
		return &OutcomeError{What: fmt.Sprintf("it says that %d roots hold %d objects, not that one holds %d", len(result.Roots), len(result.Objects), held)}
	}
	if root := result.Roots[0]; root.Code != "WebhookUnreachable" || root.Count != held || root.BlockedBy.Name != "dead" {
		return &OutcomeError{What: fmt.Sprintf("it says that %s (%s/%s) holds %d objects, not that the webhook holds %d",
			root.Code, root.BlockedBy.Kind, root.BlockedBy.Name, root.Count, held)}
	}
	return nil
}

// OutcomeError says that what a tool did is not right.
type OutcomeError struct{ What string }

func (e *OutcomeError) Error() string { return e.What }

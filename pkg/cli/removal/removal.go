// Package removal runs the deletion engine for verbs that delete objects as a part of their work.
package removal

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Remover deletes single objects.
type Remover struct {
	Client *client.Client
	Emit   func(event.Event)
}

// Remove deletes the object and returns once it is gone; the error explains why it is stuck. If the
// callback (stays) returns a reason to keep the object, the object is not deleted.
func (r Remover) Remove(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error {
	var end event.Deleted
	began := time.Now()
	engine := deletion.Engine{
		Server: r.Client, Counter: r.Client, Propagation: metav1.DeletePropagationBackground, Wait: true, IgnoreAbsent: true,
		Timeout:   func(object.Kind) time.Duration { return verb.UsualTimeout },
		Explainer: &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: r.Client.NoRetry(), Now: r.Client.Now}},
		Emit: func(e event.Event) {
			switch e := e.(type) {
			case event.Planned, event.PhaseStarted, event.Started:
			case event.Deleted:
				end = e
			default:
				r.Emit(e)
			}
		},
	}
	err := engine.Run(ctx, []deletion.Phase{{Name: "objects", Sets: []deletion.Set{{
		Kind: kind, Selection: object.Selection{Namespace: ref.Namespace},
		Items: []deletion.Item{{Ref: ref, UID: uid, Stays: stays}},
	}}}})
	switch {
	case end.Action == event.Gone, end.Action == event.Absent:
		return nil
	case end.Action == event.Remains:
		err = fmt.Errorf("its deletion was accepted, but it still exists after %s", time.Since(began).Round(time.Second))
		if len(end.Causes) == 0 {
			return err
		}
		return &object.HintedError{Err: fmt.Errorf("%w: %s", err, end.Causes[0].Message), Advice: end.Causes[0].Next}
	case end.Err != nil:
		return end.Err
	default:
		return err
	}
}

// Members deletes the members of a set with the engine of the verb delete.
func Members(
	ctx context.Context, c *connection.Connection, run string, client *client.Client, engine *deletion.Engine, phases []deletion.Phase,
) error {
	patient, err := c.Patient(verb.ToleratedOutage).Connect(ctx, run, 0, engine.Emit)
	if err != nil {
		return err
	}
	engine.First, engine.Server, engine.Counter, engine.WorthAcross = client, patient, patient, patient.WorthAcross
	engine.Wait, engine.IgnoreAbsent, engine.Timeout = true, true, deletion.TimeoutOf
	engine.Explainer = &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: client.NoRetry(), Now: client.Now}}
	return engine.Run(transport.Deleting(ctx), phases)
}

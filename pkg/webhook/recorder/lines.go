package recorder

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// maxLines is how many lines of the log may wait to be read.
const maxLines = 10_000

// line is a transition in the log.
type line struct {
	Time            time.Time          `json:"time"`
	APIVersion      string             `json:"apiVersion"`
	Kind            string             `json:"kind"`
	Namespace       string             `json:"namespace,omitempty"`
	Name            string             `json:"name"`
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Path            string             `json:"path"`
	Transition      ownership.Kind     `json:"transition"`
	Why             ownership.Why      `json:"why,omitempty"`
	From            []ownership.Holder `json:"from"`
	To              []ownership.Holder `json:"to"`
	Forced          bool               `json:"forced,omitempty"`
	Gap             bool               `json:"gap,omitempty"`
	User            string             `json:"user,omitempty"`
}

// log queues a line. It never waits for the reader of the log: lines that find no
// room are counted.
func (r *Recorder) log(o ownership.Occurrence) {
	if r.opts.Transitions == nil {
		return
	}
	content, err := json.Marshal(line{
		Time: o.Time.UTC(), APIVersion: o.Object.APIVersion, Kind: o.Object.Kind, Namespace: o.Object.Namespace,
		Name: o.Object.Name, UID: o.Object.UID, ResourceVersion: o.ResourceVersion,
		Path: o.Path.String(), Transition: o.Kind, Why: o.Why, From: ownership.HoldersOf(o.Before), To: ownership.HoldersOf(o.After),
		Forced: o.Forced, Gap: o.Gap, User: o.User,
	})
	if err != nil { // Every field can be written as JSON.
		return
	}
	select {
	case r.lines <- append(content, '\n'):
	default:
		r.opts.Metrics.unlogged()
	}
}

// writeLines writes queued lines until the context ends, and then the rest.
func (r *Recorder) writeLines(ctx context.Context) {
	for {
		select {
		case l := <-r.lines:
			r.writeLine(l)
		case <-ctx.Done():
			for {
				select {
				case l := <-r.lines:
					r.writeLine(l)
				default:
					return
				}
			}
		}
	}
}

func (r *Recorder) writeLine(l []byte) {
	if _, err := r.opts.Transitions.Write(l); err != nil {
		r.opts.Metrics.unlogged()
	}
}

package document

import (
	"context"
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// stream writes each event immediately, as a JSON object on a line of its own.
type stream struct {
	output.Base
	actions []event.Action
	failure error
}

// NewStream returns a stream. Its last line gives the number of results for each of the given
// actions.
func NewStream(b output.Base, actions []event.Action) output.Results {
	return &stream{Base: b, actions: actions}
}

// streamLine contains the fields of all types of lines. Each type sets its own.
type streamLine struct {
	// The time of the event, in UTC, with milliseconds.
	Time string `json:"time"`
	// The event: planned (the first line), phaseStarted, started (work on an object begins), applied,
	// compared, given, deleted, waited (results for an object), decided, remarked, warned, awaited (a
	// selector found the object), judged (its conditions), stalled (it makes no progress), going (a
	// deletion makes progress), stuck (a deletion makes none), root, runs (the images of a workload),
	// reviewed, refused, rollingBack, rolledBack, leftOut, helmHooks, setBegun, retrying, waiting, or
	// finished (the last line). Ignore types that you do not know.
	Type string `json:"type"`
	// For planned: the ID of the run.
	Run string `json:"run,omitempty"`
	// For planned: set in a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// For planned: the phases of the run.
	Phases []streamPhase `json:"phases,omitempty"`
	// For phaseStarted: the phase.
	Phase *streamPhase `json:"phase,omitempty"`
	// The object that the line is about, with apiVersion, kind, namespace and name. Results also have the
	// fields of an object in the verb's document: applied of an ApplyResult, compared of a DiffResult,
	// given of a GiveResult, deleted of a DeleteResult, stuck of a StuckResult, waited of a WaitResult, and
	// rolledBack those of rollback in an ApplyResult. judged has the object's conditions, met or not;
	// stalled has its causes, and since, the time of its last change. For setBegun: the object that stores
	// the new set. If warned, remarked or retrying has no object, it concerns the whole run.
	Object any `json:"object,omitempty"`
	// For warned: the warning. For going: the progress of a terminating object.
	Text string `json:"text,omitempty"`
	// For going without text: how many of the objects in the terminating object are gone.
	Done *int `json:"done,omitempty"`
	// For going without text: the number of objects in the terminating object. For rollingBack: the
	// number of objects.
	Total *int `json:"total,omitempty"`
	// For root: a cause with the objects that it blocks, as in a StuckResult.
	Root *rootEntry `json:"root,omitempty"`
	// For runs: the images that the Pods of a workload run.
	Images []event.Image `json:"images,omitempty"`
	// For remarked: the remark.
	Remark *event.Remarked `json:"remark,omitempty"`
	// For decided, with -v 1: what decided each path.
	Decided []decidedEntry `json:"decided,omitempty"`
	// For waiting: the condition that blocks the run.
	For string `json:"for,omitempty"`
	// For refused: why the run was refused because of --confirm. For rollingBack: why the run rolls back
	// its writes. For leftOut: the part of the input that --skip-invalid skips. For retrying: why the
	// request failed.
	Error *fault `json:"error,omitempty"`
	// For helmHooks: the Helm hooks that are skipped.
	HelmHooks []hookEntry `json:"helmHooks,omitempty"`
	// For retrying: the seconds until the next attempt.
	InSeconds *float64 `json:"inSeconds,omitempty"`
	// For retrying: the seconds that remain for retries.
	LeftSeconds *float64 `json:"leftSeconds,omitempty"`
	// For waiting and rollingBack: the time limit in seconds, if there is one.
	Within float64 `json:"withinSeconds,omitempty"`
	// For finished: the number of objects for each action.
	Summary *summary `json:"summary,omitempty"`
	// For reviewed: the digest of all changes, for apply --confirm.
	Digest string `json:"digest,omitempty"`
	// For reviewed: the cluster of the diff.
	Cluster *event.Cluster `json:"cluster,omitempty"`
}

type streamPhase struct {
	// The position in the list of phases, from 0. Absent in that list.
	Index *int `json:"index,omitempty"`
	// The name of the phase, such as workloads.
	Name string `json:"name"`
	// The number of objects in the phase.
	Total int `json:"total"`
}

func (s *stream) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Planned:
		s.write(s.planned(e))
	case event.PhaseStarted:
		phase, _ := s.State.Phase()
		s.write(streamLine{Type: "phaseStarted", Phase: &streamPhase{Index: &e.Index, Name: phase.Name, Total: phase.Total}})
	case event.Started:
		s.write(streamLine{Type: "started", Object: e.Ref})
	case event.Applied:
		s.write(streamLine{Type: "applied", Object: appliedOf(e)})
	case event.Compared:
		s.write(streamLine{Type: "compared", Object: comparedOf(e)})
	case event.Reviewed:
		s.write(streamLine{Type: "reviewed", Digest: e.Digest, Cluster: &e.Cluster})
	case event.Given:
		s.write(streamLine{Type: "given", Object: givenOf(e)})
	case event.Deleted:
		s.write(streamLine{Type: "deleted", Object: deletedOf(e)})
	case event.Terminating:
		s.write(s.going(e))
	case event.Stuck:
		s.write(streamLine{Type: "stuck", Object: stuckOf(e)})
	case event.Rooted:
		root := rootedOf(e)
		s.write(streamLine{Type: "root", Root: &root})
	case event.Awaited:
		s.write(streamLine{Type: "awaited", Object: e.Ref})
	case event.Judged:
		s.write(streamLine{Type: "judged", Object: judgedOf(e)})
	case event.Stalled:
		s.write(streamLine{Type: "stalled", Object: stalledOf(e)})
	case event.Waited:
		s.write(streamLine{Type: "waited", Object: waitedOf(e)})
	case event.RollingBack:
		s.write(streamLine{Type: "rollingBack", Error: faultOf(e.Err), Total: &e.Objects, Within: e.Within.Seconds()})
	case event.RolledBack:
		s.write(streamLine{Type: "rolledBack", Object: rolledBack{nameOf(e.Ref), *rollbackOf(e)}})
	case event.Warned:
		s.write(streamLine{Type: "warned", Object: objectOrNil(e.Ref), Text: e.String()})
	case event.Runs:
		s.write(streamLine{Type: "runs", Object: e.Ref, Images: e.Images})
	case event.Remarked:
		s.write(streamLine{Type: "remarked", Object: objectOrNil(e.Ref), Remark: &e})
	case event.Decided:
		s.write(streamLine{Type: "decided", Object: e.Ref, Decided: decidedOf(e)})
	case event.LeftOut:
		s.write(streamLine{Type: "leftOut", Error: faultOf(e.Err)})
	case event.Refused:
		s.write(streamLine{Type: "refused", Error: faultOf(e.Err)})
	case event.SetBegun:
		s.write(streamLine{Type: "setBegun", Object: e.Parent})
	case event.HooksLeftOut:
		s.write(streamLine{Type: "helmHooks", HelmHooks: hooksOf(e.Hooks)})
	case event.Waiting:
		s.write(streamLine{Type: "waiting", Object: objectOrNil(e.Ref), For: e.For, Within: e.Within.Seconds()})
	case event.Retrying:
		pause, left := e.In.Seconds(), e.Left.Seconds()
		s.write(streamLine{Type: "retrying", Object: objectOrNil(e.Ref), Error: faultOf(e.Err), InSeconds: &pause, LeftSeconds: &left})
	}
}

func (s *stream) planned(e event.Planned) streamLine {
	line := streamLine{Type: "planned", Run: s.Run, DryRun: s.DryRun}
	for _, phase := range e.Phases {
		line.Phases = append(line.Phases, streamPhase{Name: phase.Name, Total: phase.Total})
	}
	return line
}

func (s *stream) going(e event.Terminating) streamLine {
	line := streamLine{Type: "going", Object: e.Ref, Text: e.Text}
	if e.Text == "" {
		line.Done, line.Total = &e.Done, &e.Total
	}
	return line
}

func (s *stream) Finish(context.Context) error {
	s.write(streamLine{Type: "finished", Summary: &summary{actions: s.actions, tally: s.State.Tally}})
	return s.failure
}

func (s *stream) write(line streamLine) {
	line.Time = s.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	text, err := format.JSON(line, "")
	if err != nil {
		if s.failure == nil {
			s.failure = fmt.Errorf("write %s to the stream: %w", line.Type, err)
		}
		return
	}
	s.Screen.Result(string(text))
}

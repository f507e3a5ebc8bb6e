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
	Time        string          `json:"time"`
	Type        string          `json:"type"`
	Run         string          `json:"run,omitempty"`
	DryRun      bool            `json:"dryRun,omitempty"`
	Phases      []streamPhase   `json:"phases,omitempty"`
	Phase       *streamPhase    `json:"phase,omitempty"`
	Object      any             `json:"object,omitempty"`
	Text        string          `json:"text,omitempty"`
	Done        *int            `json:"done,omitempty"`
	Total       *int            `json:"total,omitempty"`
	Root        *rootEntry      `json:"root,omitempty"`
	Images      []event.Image   `json:"images,omitempty"`
	Remark      *event.Remarked `json:"remark,omitempty"`
	Decided     []decidedEntry  `json:"decided,omitempty"`
	For         string          `json:"for,omitempty"`
	Error       *fault          `json:"error,omitempty"`
	HelmHooks   []hookEntry     `json:"helmHooks,omitempty"`
	InSeconds   *float64        `json:"inSeconds,omitempty"`
	LeftSeconds *float64        `json:"leftSeconds,omitempty"`
	Within      float64         `json:"withinSeconds,omitempty"`
	Summary     *summary        `json:"summary,omitempty"`
	Digest      string          `json:"digest,omitempty"`
	Cluster     *event.Cluster  `json:"cluster,omitempty"`
}

type streamPhase struct {
	Index *int   `json:"index,omitempty"`
	Name  string `json:"name"`
	Total int    `json:"total"`
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

package document

import (
	"context"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// setsResult is the document of sets.
type setsResult struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Run        string     `json:"run,omitempty"`
	Sets       []setEntry `json:"sets"`
}

// setEntry is one set of a SetsResult.
type setEntry struct {
	Parent     objectName    `json:"parent"`
	ID         string        `json:"id"`
	Tooling    string        `json:"tooling,omitempty"`
	Kinds      []string      `json:"kinds"`
	Namespaces []string      `json:"namespaces"`
	Members    []memberEntry `json:"members,omitempty"`
	Lock       *lockEntry    `json:"lock,omitempty"`
	LastRun    *setRunEntry  `json:"lastRun,omitempty"`
	Runs       []setRunEntry `json:"runs,omitempty"`
	// Error is why the members are unknown, Fault why nothing can be applied to the set.
	Error *fault `json:"error,omitempty"`
	Fault *fault `json:"fault,omitempty"`
}

// memberEntry is a member; Ready is left out where it is unknown.
type memberEntry struct {
	objectName
	Ready  *bool  `json:"ready,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type lockEntry struct {
	Holder  string     `json:"holder"`
	Since   *time.Time `json:"since,omitempty"`
	Renewed *time.Time `json:"renewed,omitempty"`
}

// setRunEntry is a run of a set.
type setRunEntry struct {
	ID      string     `json:"id,omitempty"`
	Who     string     `json:"who,omitempty"`
	Result  string     `json:"result"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// setsDocument gathers sets.
type setsDocument struct {
	output.Base
	sets []setEntry
}

// NewSets returns the document of sets.
func NewSets(b output.Base) output.Results { return &setsDocument{Base: b} }

func (d *setsDocument) Handle(e event.Event) {
	s, ok := e.(event.Set)
	if !ok {
		return
	}
	entry := setEntry{
		Parent: nameOf(s.Ref), ID: s.ID, Tooling: s.Tooling,
		Kinds: append([]string{}, s.Kinds...), Namespaces: append([]string{}, s.Namespaces...),
		Error: faultOf(s.Err), Fault: faultOf(s.Fault),
	}
	for _, m := range s.Members {
		member := memberEntry{objectName: nameOf(m.Ref), Reason: m.Reason}
		if m.Judged {
			member.Ready = &m.Ready
		}
		entry.Members = append(entry.Members, member)
	}
	if s.Lock != nil {
		entry.Lock = &lockEntry{Holder: s.Lock.Holder, Since: known(s.Lock.Since), Renewed: known(s.Lock.Renewed)}
	}
	if s.LastRun != nil {
		last := setRunOf(*s.LastRun)
		entry.LastRun = &last
	}
	for _, r := range s.Runs {
		entry.Runs = append(entry.Runs, setRunOf(r))
	}
	d.sets = append(d.sets, entry)
}

func setRunOf(r event.SetRun) setRunEntry {
	return setRunEntry{ID: r.ID, Who: r.Who, Result: r.Result, Started: known(r.Started), Ended: known(r.Ended)}
}

func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (d *setsDocument) Flush() {}

func (d *setsDocument) Finish(context.Context) error {
	return writeDocument(d.Base, setsResult{APIVersion: apiVersion, Kind: "SetsResult", Run: d.Run, Sets: append([]setEntry{}, d.sets...)})
}

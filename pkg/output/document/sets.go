package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type setsResult struct {
	header
	// The sets, each with its members and runs.
	Sets []setEntry `json:"sets"`
}

type setEntry struct {
	// The object that stores the set.
	Parent object.Ref `json:"parent"`
	// The ID of the set, which its members have as the label applyset.kubernetes.io/part-of.
	ID string `json:"id"`
	// The tool that writes the set, as NAME/VERSION.
	Tooling string `json:"tooling,omitempty"`
	// The declared kinds.
	Kinds []string `json:"kinds"`
	// The declared namespaces.
	Namespaces []string `json:"namespaces"`
	// The members, each with its readiness.
	Members []memberEntry `json:"members,omitempty"`
	// Present while a run holds the set's lock.
	Lock *event.Lock `json:"lock,omitempty"`
	// The plugin's last run on the set.
	LastRun *event.SetRun `json:"lastRun,omitempty"`
	// With sets NAME: the runs that sets rollback --to can restore.
	Runs []event.SetRun `json:"runs,omitempty"`
	// Why the members are unknown.
	Error *fault `json:"error,omitempty"`
	// Why the plugin must not change the set.
	Fault *fault `json:"fault,omitempty"`
}

type memberEntry struct {
	objectName
	// The member is ready. Absent if readiness is unknown.
	Ready *bool `json:"ready,omitempty"`
	// Why the member is not ready, or why its readiness is unknown.
	Reason string `json:"reason,omitempty"`
}

// NewSets returns the document of the "sets" verb.
func NewSets(b output.Base) output.Results {
	return output.Together(func(sets []event.Set) error {
		out := setsResult{header: newHeader(b, "SetsResult"), Sets: []setEntry{}}
		for _, s := range sets {
			out.Sets = append(out.Sets, setOf(s))
		}
		return writeDocument(b, out)
	})
}

func setOf(s event.Set) setEntry {
	entry := setEntry{
		Parent: s.Ref, ID: s.ID, Tooling: s.Tooling,
		Kinds: orEmpty(s.Kinds), Namespaces: orEmpty(s.Namespaces),
		Lock: s.Lock, LastRun: s.LastRun, Runs: s.Runs, Error: faultOf(s.Err), Fault: faultOf(s.Fault),
	}
	for _, m := range s.Members {
		member := memberEntry{objectName: nameOf(m.Ref), Reason: m.Reason}
		if m.Judged {
			member.Ready = &m.Ready
		}
		entry.Members = append(entry.Members, member)
	}
	return entry
}

package document

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

type fightsResult struct {
	header
	// How long it watched, in seconds.
	Seconds float64 `json:"seconds"`
	// How many objects it watched.
	Objects int `json:"objects"`
	// The namespace, if only one was watched.
	Namespace string `json:"namespace,omitempty"`
	// One entry for each object.
	Fights []fight `json:"fights"`
	// How many repeatedly written objects were not read in full.
	Unclear int `json:"unclear,omitempty"`
	// Writes that may be harmless.
	NotStored []fight `json:"notStored,omitempty"`
	// Why no-op writes could not be counted.
	Uncounted *fault `json:"uncounted,omitempty"`
	// The kinds that could not be watched.
	Unread []unread `json:"unread,omitempty"`
}

// fight describes a fight over one object. For writes that are not stored, it may describe a kind
// instead.
type fight struct {
	objectName
	// One of several-owners (a path passes from one owner to another and back), one-writer (one writer
	// changes a path back and forth), no-change (writes are stored, but no value changes) and, if it
	// concerns a whole kind, not-stored (writes change nothing).
	Class event.FightClass `json:"class"`
	// The number of writes while it watched.
	Writes int `json:"writes"`
	// The number of writes per minute.
	WritesPerMinute int `json:"writesPerMinute"`
	// The paths that change back and forth.
	Paths []foughtPath `json:"paths,omitempty"`
	// For no-change: the writers.
	Writers []fightWriter `json:"writers,omitempty"`
	// Commands, any one of which ends the fight.
	Next []string `json:"next,omitempty"`
}

type foughtPath struct {
	// The path of the field.
	Path string `json:"path"`
	// Values contains the last value of each writer, or the last two values of a single writer; it
	// is empty if unknown. An absent value is null.
	Values []*any `json:"values,omitempty"`
	// The owners that set or removed the path.
	Writers []fightWriter `json:"writers"`
	// The webhook's records of the path.
	Recorded *recorded `json:"recorded,omitempty"`
}

type recorded struct {
	// The number of recorded changes.
	Count int `json:"count"`
	// The time of the first one.
	First time.Time `json:"first"`
	// The time of the last one.
	Last time.Time `json:"last"`
	// The user who made the last one. Absent if unknown.
	User string `json:"user,omitempty"`
}

type fightWriter struct {
	*managedfields.Owner
	// The writer is unknown. The other fields are then absent.
	Unknown bool `json:"unknown,omitempty"`
}

// NewFights returns the document of fights.
func NewFights(b output.Base) output.Results {
	return output.AtEnd(func(f event.Fights) error {
		out := fightsResult{
			header: newHeader(b, "FightsResult"), Seconds: f.For.Seconds(), Objects: f.Objects, Namespace: f.Namespace,
			Fights: orEmpty(fightsOf(f, f.Found)), Unclear: f.Unclear, NotStored: fightsOf(f, f.Unstored), Uncounted: faultOf(f.Uncounted), Unread: unreadOf(f.Unread),
		}
		return writeDocument(b, out)
	})
}

func fightsOf(all event.Fights, some []event.Fight) []fight {
	var out []fight
	for _, f := range some {
		one := fight{
			objectName: nameOf(f.Ref), Class: f.Class, Writes: f.Writes, WritesPerMinute: format.PerMinute(f.Writes, all.For),
			Writers: fightWriters(f.Writers), Next: f.Next,
		}
		for _, p := range f.Paths {
			path := foughtPath{Path: p.Path.String(), Values: p.Values, Writers: fightWriters(p.Writers)}
			if t := p.Recorded; t != nil {
				path.Recorded = &recorded{t.Count, t.First, t.Last, t.User}
			}
			one.Paths = append(one.Paths, path)
		}
		out = append(out, one)
	}
	return out
}

func fightWriters(all []*managedfields.Owner) []fightWriter {
	var out []fightWriter
	for _, o := range all {
		out = append(out, fightWriter{o, o == nil})
	}
	return out
}

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
	// How long it watched.
	Seconds float64 `json:"seconds"`
	// How many objects it watched.
	Objects   int    `json:"objects"`
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
	// One of several-owners, one-writer, no-change and, if it concerns a whole kind, not-stored.
	Class           event.FightClass `json:"class"`
	Writes          int              `json:"writes"`
	WritesPerMinute int              `json:"writesPerMinute"`
	Paths           []foughtPath     `json:"paths,omitempty"`
	Writers         []fightWriter    `json:"writers,omitempty"`
	// Commands that help.
	Next []string `json:"next,omitempty"`
}

type foughtPath struct {
	Path string `json:"path"`
	// Values contains the last value of each writer, or the last two values of a single writer; it
	// is empty if unknown. An absent value is null.
	Values  []*any        `json:"values,omitempty"`
	Writers []fightWriter `json:"writers"`
	// The webhook's records of the path.
	Recorded *recorded `json:"recorded,omitempty"`
}

type recorded struct {
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	User  string    `json:"user,omitempty"`
}

type fightWriter struct {
	*managedfields.Owner
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

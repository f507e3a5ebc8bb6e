package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// fightsResult is the document of what is written in circles.
type fightsResult struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Run        string         `json:"run,omitempty"`
	Seconds    float64        `json:"seconds"`
	Objects    int            `json:"objects"`
	Namespace  string         `json:"namespace,omitempty"`
	Fights     []fight        `json:"fights"`
	Unclear    int            `json:"unclear,omitempty"`
	NotStored  []fight        `json:"notStored,omitempty"`
	Uncounted  *fault         `json:"uncounted,omitempty"`
	Unread     []surveyUnread `json:"unread,omitempty"`
}

// fight is one object, or a kind without a name for writes that are not stored.
type fight struct {
	objectName
	Class           event.FightClass `json:"class"`
	Writes          int              `json:"writes"`
	WritesPerMinute int              `json:"writesPerMinute"`
	Paths           []foughtPath     `json:"paths,omitempty"`
	Writers         []fightWriter    `json:"writers,omitempty"`
	Next            []string         `json:"next,omitempty"`
}

type foughtPath struct {
	Path string `json:"path"`
	// Values are the last of each writer, or two of one; none if they are not known. An absent one is
	// null.
	Values  []*any        `json:"values,omitempty"`
	Writers []fightWriter `json:"writers"`
}

type fightWriter struct {
	*managedfields.Owner
	Unknown bool `json:"unknown,omitempty"`
}

// NewFights returns the document of what is written in circles.
func NewFights(b output.Base) output.Results {
	return output.AtEnd(func(f event.Fights) error {
		out := fightsResult{
			APIVersion: apiVersion, Kind: "FightsResult", Run: b.Run, Seconds: f.For.Seconds(), Objects: f.Objects, Namespace: f.Namespace,
			Fights: orEmpty(fightsOf(f, f.Found)), Unclear: f.Unclear, NotStored: fightsOf(f, f.Unstored), Uncounted: faultOf(f.Uncounted),
		}
		for _, u := range f.Unread {
			out.Unread = append(out.Unread, surveyUnread{nameOf(u.Ref), faultOf(u.Err)})
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
			one.Paths = append(one.Paths, foughtPath{p.Path.String(), p.Values, fightWriters(p.Writers)})
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

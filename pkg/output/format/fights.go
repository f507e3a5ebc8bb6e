package format

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// unknownWriter represents a writer that cannot be identified from managed fields.
const unknownWriter = "unknown"

// FightName names the object of a fight, or the kind if there is no object.
func FightName(f event.Fight) string { return strings.TrimSuffix(Name(f.Ref), "/") }

// FightRate returns how often the object is written.
func FightRate(f event.Fight, in time.Duration) string {
	rate := "1 write a minute"
	if n := PerMinute(f.Writes, in); n != 1 {
		rate = fmt.Sprintf("%d writes a minute", n)
	}
	if f.Class == event.NoChange || f.Class == event.NotStored {
		rate += ", and nothing changes"
	}
	return rate
}

// PerMinute returns a rate per minute, which is at least 1 unless n is 0.
func PerMinute(n int, in time.Duration) int {
	if n == 0 || in <= 0 {
		return n
	}
	return max(1, int(float64(n)/in.Minutes()+0.5))
}

// FightLines returns a line for each path of a fight, with its writers, and a line for each command
// that ends the fight.
func FightLines(f event.Fight, now time.Time) []string {
	const most = 8
	var lines []string
	for i, p := range f.Paths {
		if i == most {
			lines = append(lines, "and "+text.Count(len(f.Paths)-most, "more path"))
			break
		}
		line := text.Printable(p.Path.String())
		if values := foughtValues(p.Values); values != "" {
			line += "  " + values
		}
		line += "  " + writers(p.Writers, " ↔ ", now)
		if f.Class == event.OneWriter {
			line += ", back and forth"
		}
		lines = append(lines, line)
		if p.Recorded != nil {
			lines = append(lines, recorded(*p.Recorded))
		}
	}
	switch {
	case f.Class == event.NoChange:
		lines = append(lines, "written by "+writers(f.Writers, ", ", now))
	case f.Class == event.NotStored:
		unknown := "object and writer: "
		if f.Ref.Name != "" {
			unknown = "writer: "
		}
		lines = append(lines, unknown+unknownWriter+"; the API server does not store such writes, so only its audit log shows them")
	case slices.ContainsFunc(f.Paths, func(p event.FoughtPath) bool { return len(p.Writers) > 2 }):
		lines = append(lines, "more than two writers: decide which one keeps the field, and make the others stop writing it")
	}
	for i, next := range f.Next {
		word := "next  "
		if i > 0 {
			word = "or    "
		}
		lines = append(lines, word+next)
	}
	if len(f.Next) > 0 && f.Applied() {
		lines = append(lines, "also remove the field from the other tool's manifest: a tool that applies by force takes the field back")
	}
	return lines
}

func recorded(t event.Transition) string {
	line := "recorded  one owner change, at " + Stamp(t.Last)
	if t.Count > 1 {
		line = fmt.Sprintf("recorded  %d owner changes since %s, the last at %s", t.Count, Stamp(t.First), Stamp(t.Last))
	}
	if t.User != "" {
		line += " by user " + text.Printable(t.User)
	}
	return line
}

func writers(all []*managedfields.Owner, between string, now time.Time) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = unknownWriter
		if o != nil {
			names[i] = Owner(*o, now)
		}
	}
	return strings.Join(names, between)
}

func foughtValues(values []*any) string {
	const longest = 30
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = "none"
		if v != nil {
			texts[i] = CutMiddle(Value(*v), longest)
		}
	}
	return strings.Join(texts, " ↔ ")
}

// Fights returns the summary and notes on what could not be judged or counted, one line each.
func Fights(f event.Fights) []string {
	where := ""
	if f.Namespace != "" {
		where = "in namespace " + text.Printable(f.Namespace) + ": "
	}
	none := "no fights"
	if len(f.Unread) > 0 || f.Uncounted != nil {
		none = "no fights found, but some may have been missed"
	}
	message := fmt.Sprintf("%s%s; watched %s for %s", where, none, text.Count(f.Objects, "object"), seconds(f.For))
	if len(f.Found) > 0 {
		message = fmt.Sprintf("%s%d of %s; %s", where, len(f.Found), text.Count(f.Objects, "object"), seconds(f.For))
	}
	if len(f.Unread) > 0 {
		message += "; " + text.Count(len(f.Unread), "kind") + " not watched"
	}
	if f.Uncounted != nil {
		message += "; writes that change nothing not counted"
	}
	lines := []string{message}
	if f.Unclear > 0 {
		lines = append(lines, "not judged: "+text.Count(f.Unclear, "more object")+" with repeated writes; name a TYPE to include them")
	}
	for _, one := range f.Unstored {
		lines = append(lines, fmt.Sprintf("%s: %s; this may be one write per object, as when a tool reapplies all objects", FightName(one), FightRate(one, f.For)))
	}
	return lines
}

func seconds(d time.Duration) string {
	if d = d.Round(time.Second); d <= 2*time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return d.String()
}

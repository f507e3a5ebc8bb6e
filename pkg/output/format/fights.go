package format

import (
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// unknownWriter stands for a writer that managed fields do not prove.
const unknownWriter = "unknown"

// FightName names the object of a fight, or the kind.
func FightName(f event.Fight) string { return strings.TrimSuffix(Name(f.Ref), "/") }

// FightRate says how often the object is written.
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

// PerMinute is a rate, and at least 1 for anything.
func PerMinute(n int, in time.Duration) int {
	if n == 0 || in <= 0 {
		return n
	}
	return max(1, int(float64(n)/in.Minutes()+0.5))
}

// FightLines says what goes to and fro, who writes it, and what ends it.
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
			line += ", to and fro"
		}
		lines = append(lines, line)
	}
	switch f.Class {
	case event.TwoOwners, event.OneWriter:
	case event.NoChange:
		lines = append(lines, "written by "+writers(f.Writers, ", ", now))
	case event.NotStored:
		lines = append(lines, "object and writer: "+unknownWriter+"; the API server stores no such write, so that only its audit log has them")
	}
	for i, next := range f.Next {
		word := "next  "
		if i > 0 {
			word = "or    "
		}
		lines = append(lines, word+next)
	}
	if len(f.Next) > 0 && f.Applied() {
		lines = append(lines, "and leave the field out of what the other one applies: by force, it takes it again")
	}
	return lines
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

// Fights sums up what was found, and what could not be seen, a line each.
func Fights(f event.Fights) []string {
	where := ""
	if f.Namespace != "" {
		where = "in namespace " + text.Printable(f.Namespace) + ": "
	}
	said := fmt.Sprintf("%snone of %s is fought over; %s", where, text.Count(f.Objects, "object"), seconds(f.For))
	if len(f.Found) > 0 {
		said = fmt.Sprintf("%s%d of %s; %s", where, len(f.Found), text.Count(f.Objects, "object"), seconds(f.For))
	}
	if len(f.Unread) > 0 {
		said += "; " + text.Count(len(f.Unread), "kind") + " not watched"
	}
	lines := []string{said}
	if f.Unclear > 0 {
		lines = append(lines, text.Count(f.Unclear, "more object")+" written again and again, and not read: name a TYPE to see them")
	}
	for _, one := range f.Unstored {
		lines = append(lines, fmt.Sprintf("%s: %s: perhaps one for each object, as when a tool applies all of them again", FightName(one), FightRate(one, f.For)))
	}
	if f.Uncounted != nil {
		lines = append(lines, "writes that change nothing are not counted: "+text.Excerpt(f.Uncounted.Error()))
	}
	return lines
}

func seconds(d time.Duration) string {
	if d = d.Round(time.Second); d <= 2*time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return d.String()
}

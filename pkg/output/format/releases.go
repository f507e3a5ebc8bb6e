package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ReleaseHead returns the columns of a release: its name, how it is upgraded, its revision, how many
// objects it has, and the forecast.
func ReleaseHead(r event.Release) []string {
	method := "client-side"
	if r.ServerSide {
		method = "server-side"
	}
	switch {
	case r.Manager == "":
		method = ""
	case r.Flux:
		method += ", by Flux"
	case r.Manager != "helm":
		method += ", by " + text.Printable(r.Manager)
	}
	revision := "not installed"
	if r.Revision > 0 {
		revision = "revision " + strconv.Itoa(r.Revision)
	}
	return []string{
		text.Printable(r.Namespace + "/" + r.Name), method, revision, text.Count(r.Objects, "object"), ReleaseForecast(r),
	}
}

// ReleaseForecast returns the forecast of a release in a few words.
func ReleaseForecast(r event.Release) string {
	conflicts, overwrites, removes := countConflicts(r.Conflicts), countConflicts(r.Overwrites), countConflicts(r.Removes)
	switch {
	case r.Forecast == event.UpgradeUnknown:
		return "unknown"
	case r.Forecast == event.UpgradeFails && r.ServerSide && conflicts > 0:
		return "will fail: " + text.Count(conflicts, "conflict")
	case r.Forecast == event.UpgradeFails:
		return "will fail"
	case overwrites > 0 && removes > 0:
		return fmt.Sprintf("overwrites %d and removes %s of other owners", overwrites, text.Count(removes, "field"))
	case overwrites > 0:
		return "overwrites " + text.Count(overwrites, "field") + " of other owners"
	case removes > 0:
		return "removes " + text.Count(removes, "field") + " of other owners"
	}
	return "ready"
}

func countConflicts(all []event.ObjectConflicts) int {
	n := 0
	for _, o := range all {
		n += len(o.Conflicts)
	}
	return n
}

// ReleaseLines returns the details of a forecast. change formats the values of a conflict; it may be
// nil.
func ReleaseLines(r event.Release, now time.Time, change func(managedfields.Conflict) string) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	fields := func(word string, all []event.ObjectConflicts) {
		for _, o := range all {
			add("%s", Name(o.Ref))
			for _, c := range o.Conflicts {
				line := "  " + word + "  " + text.Printable(c.Path.String())
				if change != nil && (c.Yours != nil || word != "removes") {
					line += "  " + change(c)
				}
				add("%s  owned by %s", line, OwnerList(c.Owners, now))
			}
		}
	}
	switch {
	case r.Flux && r.ServerSide:
		add("Flux upgrades it and forces conflicts; helm upgrade by hand would conflict with %s in fields that it changes", text.Printable(r.Manager))
	case r.Flux:
		add("Flux upgrades it, as %s", text.Printable(r.Manager))
	case r.ServerSide && r.Manager != "" && r.Manager != "helm":
		add("%s has applied it so far; an upgrade by another program, such as helm, would conflict with it in fields that it changes", text.Printable(r.Manager))
	}
	if r.Twice {
		add("stored in %s: a release of this name is also in %s; Helm reads only those of HELM_DRIVER, which is secret by default", storage(r.Driver == "configmap"), storage(r.Driver != "configmap"))
	}
	if r.Refused != nil {
		lines = append(lines, ErrorLines(r.Refused, 0)...)
	}
	if r.ServerSide {
		fields("conflict", r.Conflicts)
	}
	fields("overwrites", r.Overwrites)
	fields("removes", r.Removes)
	if len(r.Removes) > 0 {
		add("with --server-side=true, it would keep the fields that it removes")
	}
	if n := countConflicts(r.Conflicts); n > 0 && !r.ServerSide {
		add("with --server-side=true, it would fail: %s; --force-conflicts alone is refused", text.Count(n, "conflict"))
		if n != countConflicts(r.Overwrites) {
			fields("conflict", r.Conflicts)
		}
	}
	for _, ref := range r.Autoscaled {
		add("autoscaled  %s: an autoscaler sets its replicas again after each upgrade", Name(ref))
	}
	objects := func(format string, all []event.Unread) {
		for _, u := range all {
			add(format, Name(u.Ref))
			for _, line := range ErrorLines(u.Err, 0) {
				add("  %s", line)
			}
		}
	}
	objects("refused  %s", r.Refusals)
	objects("refused with --server-side=true  %s", r.RefusalsServerSide)
	objects("unknown  %s", r.Unread)
	for _, ref := range r.Gone {
		add("gone     %s: the upgrade creates it again", Name(ref))
	}
	for _, f := range r.Foreign {
		line := fmt.Sprintf("foreign  %s: it carries the marks of %s", Name(f.Ref), text.Printable(f.Owner))
		if f.Absent {
			line += ", which is not installed"
		}
		add("%s", line)
	}
	for _, ref := range r.Deleted {
		add("deletes  %s", Name(ref))
	}
	for _, o := range r.Orphans {
		fate := "Helm neither updates nor deletes it; if it is not needed: " + command.Kubectl("delete") + " " + o.Ref.String()
		if o.Listed {
			fate = "if the next manifest lacks it, Helm will not delete it"
		}
		add("orphan   %s: only revision %d, which failed, contains it; %s", Name(o.Ref), o.Revision, fate)
	}
	for _, l := range r.Leftovers {
		add("%s", leftoverLine(l, r.ServerSide))
	}
	for _, n := range r.Next {
		add("next  %s", text.Printable(n))
	}
	return lines
}

func leftoverLine(l event.Leftover, serverSide bool) string {
	const shown = 5
	paths := make([]string, len(l.Paths))
	for i, p := range l.Paths {
		paths[i] = text.Printable(p.String())
	}
	fate := "the upgrade leaves them as they are"
	if l.Listed {
		fate = "if the next manifest lacks them, the upgrade leaves them as they are"
	}
	if !l.Stays && !serverSide {
		fate += ", except with --server-side=true"
	}
	line := fmt.Sprintf("leftover %s: only revision %d, which failed, set %s; %s", Name(l.Ref), l.Revision, text.List(paths, shown), fate)
	if len(paths) == 1 {
		line = strings.NewReplacer("lacks them", "lacks it", "leaves them as they are", "leaves it as it is").Replace(line)
	}
	return line
}

func storage(inConfigMaps bool) string {
	if inConfigMaps {
		return "ConfigMaps"
	}
	return "Secrets"
}

// Releases summarizes the forecasts in one line.
func Releases(f event.Releases) string {
	counts := map[event.UpgradeForecast]int{}
	overwrites, removes := 0, 0
	for _, r := range f.Found {
		counts[r.Forecast]++
		if len(r.Overwrites) > 0 {
			overwrites++
		}
		if len(r.Removes) > 0 {
			removes++
		}
	}
	line := text.Count(len(f.Found), "release")
	for _, part := range []struct {
		n    int
		word string
	}{
		{counts[event.UpgradeFails], "will fail"}, {counts[event.UpgradeUnknown], "unknown"}, {counts[event.UpgradeReady], "ready"},
	} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	some := func(n int, verb string) {
		if n == 1 {
			verb += "s"
		}
		if n > 0 {
			line += fmt.Sprintf("; %s %s fields of other owners", text.Count(n, "release"), verb)
		}
	}
	some(overwrites, "overwrite")
	some(removes, "remove")
	if f.Namespace != "" {
		line = "in namespace " + text.Printable(f.Namespace) + ": " + line
	}
	return line
}

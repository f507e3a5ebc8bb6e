package judge_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// span is a period for which the webhook declares a gap. If Of is not nil, the gap concerns only the
// objects whose UIDs begin with one of the texts; with an empty list, all objects of the kind.
type span struct {
	From, To time.Time
	Of       map[string][]string
}

func (s span) concerns(l life) bool {
	uids, of := s.Of["ConfigMap"]
	return s.Of == nil || of && (len(uids) == 0 || slices.ContainsFunc(uids, func(uid string) bool { return strings.HasPrefix(l.uid, uid) }))
}

func (s span) within(o span) span {
	if s.From.Before(o.From) {
		s.From = o.From
	}
	if s.To.After(o.To) {
		s.To = o.To
	}
	return s
}

func (s span) length() time.Duration { return max(0, s.To.Sub(s.From)) }

func (s span) String() string { return clock(s.From) + " to " + clock(s.To) }

// verdicts collects the complaints.
type verdicts struct {
	// calm is set if nothing was killed and each call got a response: then every takeover is
	// recorded as such, with its user. (A replica that did not get the call may record a path that
	// was not taken as lost.)
	calm     bool
	gaps     []span
	receipts map[string]receipt
	found    []string
	// entries contains the records' entries, by object.
	entries map[string][]entry
	// users counts the entries with a user, and unknown the takeovers without one, among all
	// entries.
	users, unknown, of int
	// forgotten counts the entries without a user although a replica answered the call, as the
	// writer's warnings show.
	forgotten int
}

func (v *verdicts) complain(l life, format string, args ...any) {
	v.found = append(v.found, l.name+": "+fmt.Sprintf(format, args...))
}

// complainOf complains about a statement on a path, with all the evidence.
func (v *verdicts) complainOf(l life, path, format string, args ...any) {
	v.complain(l, "%s\n%s", fmt.Sprintf(format, args...), v.evidence(l, path))
}

// entry is a record's entry in JSON.
type entry struct {
	Path, Kind       string
	From, To         []map[string]any
	Forced, Gap, Cut bool
	User             string
	Count            int
	First, Last      string
	ResourceVersions []string
}

func holders(list []map[string]any) []string {
	out := make([]string, len(list))
	for i, h := range list {
		out[i] = ownerText(h)
	}
	slices.Sort(out)
	return out
}

// record is an object's stored record.
type record struct {
	Object struct{ Name, UID string }

	Transitions   []entry
	Dropped, Lost int
}

// record checks a record against the history: everything in it happened that way, and it is
// complete except for declared losses.
func (v *verdicts) record(l life, r record) {
	v.entries[l.name] = r.Transitions
	counted := map[string]int{}
	for _, e := range r.Transitions {
		counted[parties(e.Path, holders(e.From), holders(e.To))] += e.Count
		v.entry(l, e)
	}
	least, most, paths := map[string]int{}, map[string]int{}, map[string]string{}
	for _, c := range l.all() {
		key := parties(c.path, c.before, c.after)
		paths[key] = c.path
		most[key]++
		if c.kind != moved && c.kind != own && !v.inGap(l, c) {
			least[key]++
		}
	}
	for key, n := range counted {
		if n > most[key] && !slices.ContainsFunc(v.gaps, func(g span) bool { return g.concerns(l) }) {
			v.complainOf(l, paths[key], "%s: recorded %d times, happened %d times", key, n, most[key])
		}
	}
	if r.Dropped > 0 || r.Lost > 0 {
		return // declared as such
	}
	for key, n := range least {
		if counted[key] < n {
			v.complainOf(l, paths[key], "%s: recorded %d times, happened %d times outside of gaps", key, counted[key], n)
		}
	}
}

// inGap reports whether a write may have been made in a declared gap of its object.
func (v *verdicts) inGap(l life, c change) bool {
	r, ok := v.receipts[c.stamp]
	return slices.ContainsFunc(v.gaps, func(g span) bool {
		return g.concerns(l) && (!ok || r.began.Before(g.To) && r.ended.After(g.From))
	})
}

func (v *verdicts) entry(l life, e entry) {
	if len(e.ResourceVersions) == 0 {
		v.complain(l, "%s: no versions", e.Path)
		return
	}
	for _, revision := range e.ResourceVersions[:len(e.ResourceVersions)-1] {
		if _, ok := l.changes[revision]; !ok {
			v.complainOf(l, e.Path, "%s: there is no version %s", e.Path, revision)
		}
	}
	if e.Gap && e.Kind != taken && e.User == "" {
		return // the total change; a verdict and a user belong to a single write
	}
	last := e.ResourceVersions[len(e.ResourceVersions)-1]
	c, ok := l.changes[last][e.Path]
	switch {
	case !ok:
		v.complainOf(l, e.Path, "%s at %s: recorded as %s, and nobody lost it", e.Path, last, e.Kind)
		return
	case !slices.Equal(c.before, holders(e.From)), !slices.Equal(c.after, holders(e.To)):
		v.complainOf(l, e.Path, "%s at %s: recorded from %v to %v, was from %v to %v", e.Path, last, holders(e.From), holders(e.To), c.before, c.after)
	case e.Kind == taken && c.mayBeTaken():
	case e.Kind != c.kind && (e.Kind != lost || v.calm && c.kind == taken):
		v.complainOf(l, e.Path, "%s at %s: recorded as %s, was %s", e.Path, last, e.Kind, c.kind)
	}
	if e.Forced != (e.Kind == taken && c.forced) {
		v.complainOf(l, e.Path, "%s at %s: forced is %v, was %v", e.Path, last, e.Forced, c.forced)
	}
	user := v.receipts[c.stamp].user
	if e.User != user && (e.User != "" || v.calm && c.kind == taken) {
		v.complainOf(l, e.Path, "%s at %s: by the user %q, was %q", e.Path, last, e.User, user)
	}
	v.of++
	if e.Kind == lost && c.kind == taken {
		v.unknown++
	}
	if e.User != "" {
		v.users++
	} else if len(v.receipts[c.stamp].warnings) > 0 {
		v.forgotten++
	}
}

// The warnings' texts.
var (
	warningText = regexp.MustCompile(`^ConfigMap/[^/]+/([^:]+): (.*) taken from (.*) by (.*)$`)
	eventText   = regexp.MustCompile(`^(\S+) taken from (.+) by (.+)$`)
	moreText    = regexp.MustCompile(`^\+(\d+) more$`)
)

// named returns an owner as warnings name it, without its operation.
func named(owner string) string {
	name, _, _ := strings.Cut(owner, " (")
	return name
}

// takenOf returns the paths taken from managers other than the taker, with those managers.
func takenOf(changes map[string]change) map[string]change {
	out := map[string]change{}
	for path, c := range changes {
		by := minus(c.after, c.before)
		if len(by) == 0 {
			by = c.after
		}
		others := slices.DeleteFunc(minus(c.before, c.after), func(o string) bool {
			return slices.ContainsFunc(by, func(b string) bool { return named(b) == named(o) })
		})
		if c.kind == taken && len(others) > 0 {
			out[path] = c
		}
	}
	return out
}

// warnings checks a writer's warnings against what its write took, or would have taken from the
// older version that it was first tried on.
func (v *verdicts) warnings(l life, stamp string, r receipt) {
	revision := l.stamps[stamp]
	took := takenOf(l.changes[revision])
	fault := v.reported(l, stamp, r, took, nil)
	for _, changes := range l.first[revision] {
		if fault == "" || v.reported(l, stamp, r, took, takenOf(changes)) == "" {
			return
		}
	}
	if fault != "" {
		v.complain(l, "%s\n%s", fault, v.attempts(l, revision, r))
	}
}

// reported returns what is wrong with a writer's warnings, or "".
func (v *verdicts) reported(l life, stamp string, r receipt, took, first map[string]change) string {
	n := 0
	for _, text := range r.warnings {
		m := warningText.FindStringSubmatch(text)
		if m == nil || m[1] != l.name {
			return fmt.Sprintf("a warning that nobody understands: %q", text)
		}
		for path := range strings.SplitSeq(m[2], ", ") {
			if more := moreText.FindStringSubmatch(path); more != nil {
				count, _ := strconv.Atoi(more[1])
				n += count
				continue
			}
			n++
			_, byIt := took[path]
			if _, atFirst := first[path]; !byIt && !atFirst {
				return fmt.Sprintf("told that %s took %s (%q), and it did not", stamp, path, text)
			}
		}
	}
	// Admission is called for each try, but need not respond each time.
	both := n >= max(len(took), len(first)) && n <= len(took)+len(first)
	one := n == 0 || n == len(took) || n == len(first)
	if !both && (v.calm || !one) {
		return fmt.Sprintf("told of %d paths that %s took, it took %d", n, stamp, len(took))
	}
	return ""
}

// event checks an Event's text against its object's history.
func (v *verdicts) event(l life, text string) {
	changes := l.all()
	for part := range strings.SplitSeq(text, "; ") {
		if moreText.MatchString(part) {
			continue
		}
		m := eventText.FindStringSubmatch(part)
		if m == nil {
			v.complain(l, "an Event that cannot be parsed: %q", part)
			continue
		}
		happened := slices.ContainsFunc(changes, func(c change) bool {
			return c.mayBeTaken() && c.path == m[1] && ownersText(minus(c.before, c.after)) == m[2] && ownersText(c.after) == m[3]
		})
		if !happened {
			v.complainOf(l, m[1], "an Event says %q, which never happened", part)
		}
	}
}

func ownersText(owners []string) string {
	out := make([]string, len(owners))
	for i, o := range owners {
		out[i], _, _ = strings.Cut(o, "@")
	}
	return strings.Join(out, ", ")
}

// audited is the audit log's statement of what a request took.
type audited struct {
	Path     string
	From, By []string
	Forced   bool
	More     int
}

// audit checks a request's annotations against what it took, or would have taken from the version
// that it was first tried on: the audit log keeps the first statement.
func (v *verdicts) audit(l life, revision string, entries []audited, answered bool) {
	fault := v.annotated(l.changes[revision], revision, entries, answered)
	for _, changes := range l.first[revision] {
		if fault == "" || len(entries) > 0 && v.annotated(changes, revision, entries, true) == "" {
			return
		}
	}
	if fault != "" {
		v.complain(l, "%s\n%s", fault, v.attempts(l, revision, receipt{}))
	}
}

// annotated returns what is wrong with a request's annotations, or "".
func (v *verdicts) annotated(changes map[string]change, revision string, entries []audited, answered bool) string {
	want, owns := map[string]change{}, 0
	for path, c := range changes {
		if c.mayBeTaken() {
			want[path] = c
		}
		if c.kind == own {
			owns++
		}
	}
	for _, e := range entries {
		c, ok := want[e.Path]
		if !ok || strings.Join(e.From, ", ") != ownersText(minus(c.before, c.after)) || strings.Join(e.By, ", ") != ownersText(c.after) || e.Forced != c.forced {
			return fmt.Sprintf("the audit log says of %s that %+v, which was not so", revision, e)
		}
	}
	if (len(entries) > len(want) || len(entries) < len(want)-owns) && (answered || v.calm) {
		return fmt.Sprintf("the audit log names %d paths at %s, %d were taken", len(entries), revision, len(want))
	}
	return ""
}

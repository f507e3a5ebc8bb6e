package wait

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// TimeLimits are the values of --timeout-for. Limits that name a kind take precedence over limits
// for every kind. Among equals, the first match applies.
type TimeLimits []TimeLimit

// TimeLimit is one limit.
type TimeLimit struct {
	text string // as typed, without the duration
	// Kind is the kind that the limit applies to; if it is empty, the limit applies to every kind.
	Kind string
	// Condition has to be met in time; if it is nil, the whole goal has to be met.
	Condition *condition.Spec
	Most      time.Duration
	// IsStanding is set for a limit that applies to many runs, and may match nothing in this one.
	IsStanding bool
}

// String returns the limit's text without the duration.
func (l TimeLimit) String() string { return l.text }

// ParseTimeLimits parses the values of --timeout-for: KIND=DURATION, CONDITION=DURATION or
// KIND:CONDITION=DURATION, separated by commas.
func ParseTimeLimits(given []string) (TimeLimits, error) {
	var all TimeLimits
	var faults []error
	for _, text := range given {
		for _, one := range parted(text) {
			l, err := parse(one)
			all, faults = append(all, l), append(faults, err)
		}
	}
	return all, errors.Join(faults...)
}

// With returns the limits followed by the standing ones, so that the former take precedence.
func (all TimeLimits) With(standing []string) (TimeLimits, error) {
	more, err := ParseTimeLimits(standing)
	for i := range more {
		more[i].IsStanding = true
	}
	return append(slices.Clone(all), more...), err
}

// parted splits the value only at commas that follow a duration, because an expression may contain
// commas.
func parted(text string) []string {
	var all []string
	var one string
	for piece := range strings.SplitSeq(text, ",") {
		one += piece
		if _, _, err := split(one); err == nil {
			all, one = append(all, one), ""
			continue
		}
		one += ","
	}
	if one != "" || len(all) == 0 {
		all = append(all, strings.TrimSuffix(one, ","))
	}
	return all
}

// split cuts the value at the last equals sign, which precedes the duration.
func split(text string) (what string, most time.Duration, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return text, 0, errors.New("no time")
	}
	most, err = time.ParseDuration(strings.TrimSpace(text[i+1:]))
	return strings.TrimSpace(text[:i]), most, err
}

var kindThen = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9.-]*)(?::(.+))?$`)

func parse(text string) (TimeLimit, error) {
	what, most, err := split(text)
	if err != nil || most < 0 || what == "" {
		return TimeLimit{}, object.Hinted("such as namespace=30m, create=1m or job:condition=Complete=20m",
			"--timeout-for must be KIND=DURATION, CONDITION=DURATION or KIND:CONDITION=DURATION, not %q", text)
	}
	l := TimeLimit{text: what, Most: most}
	rest := what
	if parts := kindThen.FindStringSubmatch(what); parts != nil && !isCondition(parts[1]) {
		l.Kind, rest = parts[1], parts[2]
	}
	if rest == "" {
		return l, nil
	}
	spec, err := condition.Parse(rest)
	if err != nil {
		return l, fmt.Errorf("--timeout-for: %w", err)
	}
	l.Condition = &spec
	return l, nil
}

func isCondition(word string) bool {
	words := []string{string(condition.Ready), string(condition.Create), string(condition.Delete)}
	return slices.Contains(words, word) || strings.HasPrefix(word, "self.")
}

// Object returns how long an object of the kind may take in total; false if no limit applies.
func (all TimeLimits) Object(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition == nil })
}

// Existence returns how long an object of the kind may be missing; false if no limit applies.
func (all TimeLimits) Existence(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition != nil && l.Condition.Kind == condition.Create })
}

// Condition returns how long an object of the kind may take to meet a condition; false if no limit
// applies.
func (all TimeLimits) Condition(kind object.Kind, spec condition.Spec) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition != nil && l.appliesTo(spec) })
}

func (all TimeLimits) first(kind object.Kind, fits func(TimeLimit) bool) (time.Duration, bool) {
	for _, any := range []bool{false, true} {
		for _, l := range all {
			if (l.Kind == "") == any && fits(l) && (any || l.Means(kind)) {
				return l.Most, true
			}
		}
	}
	return 0, false
}

func (l TimeLimit) appliesTo(spec condition.Spec) bool {
	own := *l.Condition
	return own.Kind == spec.Kind && strings.TrimSpace(own.Expression) == strings.TrimSpace(spec.Expression) &&
		own.Type == spec.Type && own.Value == spec.Value && own.HasValue == spec.HasValue
}

// Means reports whether the field Kind is a name of the given kind, with or without its group.
func (l TimeLimit) Means(kind object.Kind) bool {
	name, group, qualified := strings.Cut(l.Kind, ".")
	if qualified && !strings.EqualFold(group, kind.GVK.Group) {
		return false
	}
	return strings.EqualFold(name, kind.GVK.Kind) || strings.EqualFold(name, kind.Resource)
}

// Unknown returns the limits whose condition occurs in no goal, probably because of a typo. It
// never returns a limit for existence.
func (all TimeLimits) Unknown(awaited []condition.Spec) []TimeLimit {
	var idle []TimeLimit
	for _, l := range all {
		if l.IsStanding || l.Condition == nil || l.Condition.Kind == condition.Create || slices.ContainsFunc(awaited, l.appliesTo) {
			continue
		}
		idle = append(idle, l)
	}
	return idle
}

// Idle returns the limits for kinds of which the run has no objects, possibly because of a typo.
func (all TimeLimits) Idle(kinds []object.Kind) []TimeLimit {
	var idle []TimeLimit
	for _, l := range all {
		if !l.IsStanding && l.Kind != "" && !slices.ContainsFunc(kinds, l.Means) {
			idle = append(idle, l)
		}
	}
	return idle
}

type due struct {
	at   time.Time // zero without a limit
	note string    // describes the limit; empty for the limit of the whole wait
}

// sooner returns the earlier of two values. A value without a limit is later than any other.
func (d due) sooner(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && other.at.Before(d.at) {
		return other
	}
	return d
}

func (d due) later(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && !other.at.After(d.at) {
		return d
	}
	return other
}

func (r *run) dueOf(it *item) due {
	d := r.ownDue(it)
	if most := (due{at: r.began.Add(r.Most)}); r.Most > 0 {
		d = d.sooner(most)
	}
	return d
}

func (r *run) ownDue(it *item) due {
	base, kind := r.dueAtEnd(r.began), it.view.kind
	existence, exists := r.Limits.Existence(kind)
	if exists && it.appeared.IsZero() && !it.goal.waitsFor(condition.Delete) {
		return due{r.began.Add(existence), "did not exist within " + existence.String()}
	}
	from := r.began
	if exists && !it.appeared.IsZero() {
		from = it.appeared
		if base = r.dueAtEnd(from); r.Timeout > 0 {
			base.note = "not met within " + r.Timeout.String() + " after it appeared"
		}
	}
	if most, own := r.Limits.Object(kind); own {
		base = due{from.Add(most), "not met within " + most.String()}
	}
	if it.appeared.IsZero() {
		return base
	}
	return r.dueOfConditions(it, base)
}

func (r *run) dueAtEnd(from time.Time) due {
	if r.Timeout < 0 {
		return due{}
	}
	return due{at: from.Add(r.Timeout)}
}

// dueOfConditions returns when the first unmet condition runs out of time or, if Any is set, when
// the last one does.
func (r *run) dueOfConditions(it *item, base due) due {
	conds := it.view.compiled[it.goal]
	if conds == nil {
		return base
	}
	var all []due
	for i, c := range conds.met {
		one := base
		if most, own := r.Limits.Condition(it.view.kind, c.Spec()); own {
			one = due{it.appeared.Add(most), "not met within " + most.String() + ": " + c.Spec().Text}
		}
		if i < len(it.verdict.conditions) && it.verdict.conditions[i].Met && !conds.any {
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return base
	}
	d := all[0]
	for _, one := range all[1:] {
		if conds.any {
			d = d.later(one)
		} else {
			d = d.sooner(one)
		}
	}
	return d
}

// outOfTime reports whether the object has run out of time. Timeout counts here only in overtime,
// when the wait continues for other objects.
func (r *run) outOfTime(it *item) (due, bool) {
	d := r.dueOf(it)
	if d.at.IsZero() || d.note == "" && !r.overtime || time.Now().Before(d.at) {
		return d, false
	}
	return d, true
}

func (r *run) expire(ctx context.Context, it *item, d due) {
	it.expired = true
	result := r.settle(ctx, it)
	if d.note != "" {
		if result.Note != "" {
			result.Note += "; "
		}
		result.Note += d.note
	}
	it.late = &result
	r.end(it, result.Action)
	r.expired = append(r.expired, it)
}

// timeUp handles the expiry of Timeout. It expires the objects that have no time left, and returns
// how much longer to wait for the others; 0 if there are none.
func (r *run) timeUp(ctx context.Context) time.Duration {
	r.overtime = true
	var last due
	endless := false
	for _, it := range r.items {
		if it.done {
			continue
		}
		switch d := r.dueOf(it); {
		case d.at.IsZero():
			endless = true
		case d.at.After(time.Now()):
			last = last.later(d)
			if last.at.IsZero() {
				last = d
			}
		}
	}
	if last.at.IsZero() && !endless {
		r.overtime = false
		return 0
	}
	for _, it := range r.items {
		if d, over := r.outOfTime(it); over && !it.done {
			r.expire(ctx, it, d)
		}
	}
	if endless {
		return time.Duration(1<<63 - 1)
	}
	return time.Until(last.at)
}

// reportExpired explains the last few objects in the background, because the others are still being awaited.
// A cause that is known already is used without another question.
func (r *run) reportExpired(ctx context.Context, asking *group) {
	items := r.expired
	r.expired = nil
	var ask []*item
	var objects []Stalled
	for _, it := range items {
		h := r.hangs[it]
		switch {
		case h != nil && r.isExplained(h):
			it.late.Causes = h.causes
		case r.Explain != nil && it.live != nil && len(ask) < lastAsked:
			ask = append(ask, it)
			objects = append(objects, Stalled{Ref: it.ref, Moved: true, Fresh: true})
			continue
		}
		r.reportLate(it)
	}
	if len(ask) == 0 {
		return
	}
	asking.start(func(report func(message)) {
		ctx, cancel := context.WithTimeout(ctx, explaining)
		defer cancel()
		explained := r.Explain(ctx, objects)
		if ctx.Err() == nil || len(explained.Causes) == len(ask) {
			report(message{late: ask, causes: explained.Causes})
		}
	})
}

func (r *run) lateExplained(items []*item, causes [][]event.Cause) {
	for i, it := range items {
		it.late.Causes = causes[i]
		r.reportLate(it)
	}
}

func (r *run) reportLate(it *item) {
	if !it.lateReported {
		it.lateReported = true
		r.Emit(*it.late)
	}
}

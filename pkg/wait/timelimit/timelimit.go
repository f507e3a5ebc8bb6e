// Package timelimit is how long each kind of object or condition may take: the values of
// --timeout-for. It is pure: the engine of waits and that of deletions apply them.
package timelimit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Limits are the values of --timeout-for. Limits that name a kind take precedence over limits
// for every kind. Among equals, the first match applies.
type Limits []Limit

// Limit is one limit.
type Limit struct {
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
func (l Limit) String() string { return l.text }

// Parse parses the values of --timeout-for: KIND=DURATION, CONDITION=DURATION or
// KIND:CONDITION=DURATION, separated by commas.
func Parse(given []string) (Limits, error) {
	var all Limits
	var faults []error
	for _, text := range given {
		for _, one := range parted(text) {
			l, err := parseOne(one)
			all, faults = append(all, l), append(faults, err)
		}
	}
	return all, errors.Join(faults...)
}

// With returns the limits followed by the standing ones, so that the former take precedence.
func (all Limits) With(standing []string) (Limits, error) {
	more, err := Parse(standing)
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

func parseOne(text string) (Limit, error) {
	what, most, err := split(text)
	if err != nil || most < 0 || what == "" {
		return Limit{}, object.Hinted("such as namespace=30m, create=1m or job:condition=Complete=20m",
			"--timeout-for must be KIND=DURATION, CONDITION=DURATION or KIND:CONDITION=DURATION, not %q", text)
	}
	l := Limit{text: what, Most: most}
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
func (all Limits) Object(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l Limit) bool { return l.Condition == nil })
}

// Existence returns how long an object of the kind may be missing; false if no limit applies.
func (all Limits) Existence(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l Limit) bool { return l.Condition != nil && l.Condition.Kind == condition.Create })
}

// Condition returns how long an object of the kind may take to meet a condition; false if no limit
// applies.
func (all Limits) Condition(kind object.Kind, spec condition.Spec) (time.Duration, bool) {
	return all.first(kind, func(l Limit) bool { return l.Condition != nil && l.appliesTo(spec) })
}

func (all Limits) first(kind object.Kind, fits func(Limit) bool) (time.Duration, bool) {
	for _, any := range []bool{false, true} {
		for _, l := range all {
			if (l.Kind == "") == any && fits(l) && (any || l.Means(kind)) {
				return l.Most, true
			}
		}
	}
	return 0, false
}

func (l Limit) appliesTo(spec condition.Spec) bool {
	own := *l.Condition
	return own.Kind == spec.Kind && strings.TrimSpace(own.Expression) == strings.TrimSpace(spec.Expression) &&
		own.Type == spec.Type && own.Value == spec.Value && own.HasValue == spec.HasValue
}

// Means reports whether the field Kind is a name of the given kind, with or without its group.
func (l Limit) Means(kind object.Kind) bool {
	name, group, qualified := strings.Cut(l.Kind, ".")
	if qualified && !strings.EqualFold(group, kind.GVK.Group) {
		return false
	}
	return strings.EqualFold(name, kind.GVK.Kind) || strings.EqualFold(name, kind.Resource)
}

// Unknown returns the limits whose condition occurs in no goal, probably because of a typo. It
// never returns a limit for existence.
func (all Limits) Unknown(awaited []condition.Spec) []Limit {
	var idle []Limit
	for _, l := range all {
		if l.IsStanding || l.Condition == nil || l.Condition.Kind == condition.Create || slices.ContainsFunc(awaited, l.appliesTo) {
			continue
		}
		idle = append(idle, l)
	}
	return idle
}

// Idle returns the limits for kinds of which the run has no objects, possibly because of a typo.
func (all Limits) Idle(kinds []object.Kind) []Limit {
	var idle []Limit
	for _, l := range all {
		if !l.IsStanding && l.Kind != "" && !slices.ContainsFunc(kinds, l.Means) {
			idle = append(idle, l)
		}
	}
	return idle
}

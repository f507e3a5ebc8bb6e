package wait

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

// TimeLimits are the times of --timeout-for; the first that fits an object counts.
type TimeLimits []TimeLimit

// TimeLimit is one of them.
type TimeLimit struct {
	// text is the flag's value without the time.
	text string
	// Kind is that of the objects; empty for every kind.
	Kind string
	// Condition is which condition has to be met in time; nil for the object as a whole.
	Condition *condition.Spec
	Most      time.Duration
	// IsStanding: it holds for many runs, and may be idle in some.
	IsStanding bool
}

// String returns the flag's value before the time.
func (l TimeLimit) String() string { return l.text }

// Parse parses the values of --timeout-for: KIND=DURATION, CONDITION=DURATION or
// KIND:CONDITION=DURATION, separated by commas.
func Parse(given []string) (TimeLimits, error) {
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

// With returns the limits with those that hold for many runs after them, where they count
// less.
func (all TimeLimits) With(standing []string) (TimeLimits, error) {
	more, err := Parse(standing)
	for i := range more {
		more[i].IsStanding = true
	}
	return append(slices.Clone(all), more...), err
}

// parted parts limits at the commas that come after a time: an expression may have some.
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

// split separates the time, which follows the last equals sign.
func split(text string) (what string, most time.Duration, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return text, 0, errors.New("no time")
	}
	most, err = time.ParseDuration(strings.TrimSpace(text[i+1:]))
	return strings.TrimSpace(text[:i]), most, err
}

// kindThen is a KIND, alone or before a condition.
var kindThen = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9.-]*)(?::(.+))?$`)

func parse(text string) (TimeLimit, error) {
	what, most, err := split(text)
	if err != nil || most < 0 || what == "" {
		return TimeLimit{}, &object.HintedError{
			Err:    fmt.Errorf("--timeout-for must be KIND=DURATION, CONDITION=DURATION or KIND:CONDITION=DURATION, not %q", text),
			Advice: "such as namespace=30m, create=1m or job:condition=Complete=20m",
		}
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

// isCondition reports whether a word that could be a KIND is a condition.
func isCondition(word string) bool {
	words := []string{string(condition.Ready), string(condition.Create), string(condition.Delete)}
	return slices.Contains(words, word) || strings.HasPrefix(word, "self.")
}

// Object is how long an object of the kind may take in all; false if there is no limit
// for that.
func (all TimeLimits) Object(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition == nil })
}

// Existence is how long an object of the kind may take until it is there.
func (all TimeLimits) Existence(kind object.Kind) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition != nil && l.Condition.Kind == condition.Create })
}

// Condition is how long an object of the kind may take to meet a condition.
func (all TimeLimits) Condition(kind object.Kind, spec condition.Spec) (time.Duration, bool) {
	return all.first(kind, func(l TimeLimit) bool { return l.Condition != nil && l.of(spec) })
}

// first is the first one that fits and names the kind, or else the first one for every
// kind.
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

// of reports whether the limit is for the condition.
func (l TimeLimit) of(spec condition.Spec) bool {
	own := *l.Condition
	return own.Kind == spec.Kind && strings.TrimSpace(own.Expression) == strings.TrimSpace(spec.Expression) &&
		own.Type == spec.Type && own.Value == spec.Value && own.HasValue == spec.HasValue
}

// Means reports whether the kind is the given one, with or without its group.
func (l TimeLimit) Means(kind object.Kind) bool {
	name, group, qualified := strings.Cut(l.Kind, ".")
	if qualified && !strings.EqualFold(group, kind.GVK.Group) {
		return false
	}
	return strings.EqualFold(name, kind.GVK.Kind) || strings.EqualFold(name, kind.Resource)
}

// Unknown returns the limits for conditions that are not waited for. Existence is always
// waited for.
func (all TimeLimits) Unknown(awaited []condition.Spec) []TimeLimit {
	var idle []TimeLimit
	for _, l := range all {
		if l.IsStanding || l.Condition == nil || l.Condition.Kind == condition.Create || slices.ContainsFunc(awaited, l.of) {
			continue
		}
		idle = append(idle, l)
	}
	return idle
}

// Idle returns the limits for kinds that no object has, which may be slips.
func (all TimeLimits) Idle(kinds []object.Kind) []TimeLimit {
	var idle []TimeLimit
	for _, l := range all {
		if !l.IsStanding && l.Kind != "" && !slices.ContainsFunc(kinds, l.Means) {
			idle = append(idle, l)
		}
	}
	return idle
}

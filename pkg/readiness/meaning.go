package readiness

import (
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// reader reads one object.
type reader struct {
	generation int64
	kind       []string
	// ends reports whether what the object stands for runs to its end, so that running
	// is not what one waits for.
	ends bool
	// observed reports whether the status is of the present generation, as it says.
	observed bool
	out      []Statement
}

// isWhole reports whether a name is of the object as a whole: one word, beside those of
// the kind.
func (r *reader) isWhole(words []string) bool {
	left := 0
	for _, word := range words {
		if !slices.Contains(r.kind, word) && !slices.Contains([]string{"to", "use", "condition"}, word) && !isNegation(word) {
			left++
		}
	}
	return left <= 1
}

func (r *reader) meaning(c class, negated bool, said object.Condition) Meaning {
	wrong := IsError(said.Reason)
	switch {
	case said.Status == "Unknown":
		if c == good && !negated {
			return Working
		}
		return Nothing
	case said.Severity == "Info" || said.Status == "False" && isBenign(said.Reason):
		return Nothing
	}
	switch truth := said.Status == "True"; c {
	case good, mild, runs:
		return r.positive(c, truth != negated, wrong)
	case bad:
		if truth != negated {
			if isStop(said.Type) {
				return Failed
			}
			return Bad
		}
	case paused:
		if truth != negated {
			return Paused
		}
	case working:
		switch {
		case truth != negated && said.Reason == "" && strings.HasSuffix(said.Type, "Progressing"):
			return Nothing // Deployments say so once they are done.
		case truth != negated && !isDone(said.Reason):
			return orBad(wrong, Working)
		case truth == negated:
			return orBad(wrong, Nothing)
		}
	case step:
		if truth != negated {
			return orBad(wrong, Step)
		}
		return orBad(wrong, NotYet)
	case neutral:
		return Nothing
	default:
		return orBad(wrong, Nothing)
	}
	return Nothing
}

// positive is the meaning of a name that is good where it is true.
func (r *reader) positive(c class, truth, wrong bool) Meaning {
	switch {
	case wrong:
		return Bad
	case !truth && c != good:
		return NotYet
	case !truth:
		return Working
	case c == runs && r.ends:
		return Working // It runs, and is to end.
	}
	return Good
}

func orBad(wrong bool, m Meaning) Meaning {
	if wrong {
		return Bad
	}
	return m
}

// isStop reports whether a condition says that the controller has given up. Failure does
// not: operators made with Ansible use it for the run before the next one.
func isStop(kind string) bool {
	words := split(kind)
	last := words[len(words)-1]
	return len(words) == 1 && (last == "failed" || last == "stalled") || last == "terminal"
}

// isPast reports whether a field is of what was, or is to be, and not of what is.
func isPast(words []string) bool {
	return slices.Contains([]string{
		"last", "previous", "prev", "old", "former", "desired", "target", "expected", "requested", "initial",
		"deprecated", "history", "past", "next",
	}, words[0])
}

func enough(n, of int64) Meaning {
	switch {
	case n < of:
		return Working
	case of == 0:
		return Nothing // Nothing is wanted, or nothing was counted yet.
	}
	return Good
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

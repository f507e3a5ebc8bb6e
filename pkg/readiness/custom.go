package readiness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// errorGrace is how long an error must last before an object that is not ready counts as failed.
// Shorter errors are normal: controllers retry, and a missing object may still be created.
const errorGrace = 2 * time.Minute

// conventions evaluates an object by the statements that it makes about itself. An empty status
// does not make an object ready (edge case 48).
func conventions(s *subject) Verdict {
	message := Read(s.obj)
	if v, decided := conclude(s, message); decided {
		return v
	}
	inStatus, _ := at(s.obj, "status")
	if m, ok := inStatus.(map[string]any); inStatus == nil || ok && len(m) == 0 {
		return unmet("NoStatus", "it has no status: no controller has reported on it yet", s.values("status")...)
	}
	return quote(s, message)
}

// conventionsOrExists is for kinds that may never have a status.
func conventionsOrExists(s *subject) Verdict {
	if v, decided := conclude(s, Read(s.obj)); decided {
		return v
	}
	return met("it exists")
}

// conclude weighs an object's statements about itself (edge case 95). Any fault, pause or work in
// progress outranks every good statement. conclude also reports whether the statements settle the
// verdict.
func conclude(s *subject, message []Statement) (Verdict, bool) {
	if v, found := objection(s, message); found {
		return v, true
	}
	well := worst(message, Good)
	sums := keep(well, func(one Statement) bool {
		// Accepted and Valid do not suffice: the controller may still have to act on the object.
		return one.Sum && one.Condition && one.IsPositive() && one.Name != "Accepted" && one.Name != "Valid"
	})
	if len(sums) == 0 {
		if old := keep(message, isOldSum); len(old) > 0 {
			return staleCondition(s, old[0].Name, old[0].Generation), true
		}
		// No condition says that the whole object is ready. The object is therefore ready only if
		// no statement uses an unknown word or reports an unfinished step.
		if doubt := worst(message, Odd, NotYet); len(doubt) > 0 {
			if doubt[0].Meaning == Odd && len(well) == 0 {
				return Verdict{}, false
			}
			return notYet(doubt[0], well), true
		}
	}
	if len(well) == 0 || len(keep(well, isOfPart)) == len(well) {
		return Verdict{}, false
	}
	return met(sentence(well[0]), valuesOf(well)...), true
}

func objection(s *subject, message []Statement) (Verdict, bool) {
	if over := worst(message, Failed); len(over) > 0 {
		reason := "Failed"
		if strings.HasPrefix(over[0].Name, "Stalled") {
			reason = "Stalled"
		}
		return failed(reason, sentence(over[0])+others(message, over[0]), valuesOf(over)...), true
	}
	// A Ready condition of an earlier generation does not count.
	if len(message) > 0 && isOldSum(message[0]) && message[0].Name == "Ready" {
		return staleCondition(s, message[0].Name, message[0].Generation), true
	}
	if wrong := worst(message, Bad); len(wrong) > 0 {
		v := notYet(wrong[0], worst(message, Good))
		v.Reason = "Unhealthy"
		v.Message += others(message, wrong[0])
		if under := worst(message, Paused); len(under) > 0 {
			v.Reason, v.Message = "Paused", "it is paused ("+under[0].String()+"), and "+v.Message
			return v, true
		}
		return lastingError(s, message, v), true
	}
	if stopped := worst(message, Paused); len(stopped) > 0 {
		return unmet("Paused", "it is paused: "+stopped[0].String(), valuesOf(stopped)...), true
	}
	if busy := worst(message, Working); len(busy) > 0 {
		v := notYet(busy[0], worst(message, Good))
		v.Message += others(message, busy[0])
		return v, true
	}
	return Verdict{}, false
}

// lastingError marks the verdict as failed if an error has kept the object from being ready for
// longer than errorGrace. A brief error may be part of a normal start.
func lastingError(s *subject, message []Statement, v Verdict) Verdict {
	sums := []string{"Ready", "Available", "Healthy", "Succeeded"}
	for _, one := range message {
		if one.Sum && one.Condition && one.Meaning == Bad && one.Final && one.Value == "False" && !one.Since.IsZero() && slices.Contains(sums, one.Name) {
			return s.lasting(latest(one.Since, s.time("metadata.creationTimestamp"), specChanged(s), s.began), errorGrace, v)
		}
	}
	return v
}

// notYet returns an InProgress verdict with the statement as its message. If a good statement about
// the whole object contradicts it, the message mentions that statement, too.
func notYet(one Statement, well []Statement) Verdict {
	message := sentence(one)
	shown := []Statement{one}
	if len(well) > 0 && well[0].Sum {
		message = sentence(well[0]) + ", but " + one.String()
		shown = append(shown, well[0])
	}
	return unmet("InProgress", message, valuesOf(shown)...)
}

func others(message []Statement, but Statement) string {
	var more []string
	for _, one := range worst(message, Failed, Bad, Working) {
		isPart := !one.Sum && one.Meaning == Bad && but.Sum
		if one.Path != but.Path && (isPart || one.Detail() != "" && one.Detail() != but.Detail()) {
			more = append(more, one.String())
		}
	}
	if len(more) == 0 {
		return ""
	}
	return "; " + strings.Join(more[:min(2, len(more))], "; ")
}

const quoted = 8

// OwnExpression is the advice at the end of the message of a verdict NoCondition.
const OwnExpression = "; wait for your own expression instead"

func quote(s *subject, message []Statement) Verdict {
	conditions := keep(message, func(one Statement) bool { return !one.Old })
	slices.SortStableFunc(conditions, func(a, b Statement) int { return int(b.Meaning) - int(a.Meaning) })
	var words []string
	for _, one := range conditions[:min(quoted, len(conditions))] {
		words = append(words, one.String())
	}
	if more := len(conditions) - quoted; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	for _, name := range []string{"message", "reason"} {
		if message := s.text("status." + name); message != "" && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, text.OneLine(message)) }) {
			words = append(words, name+": "+text.OneLine(message))
		}
	}
	if len(words) == 0 {
		return unmet("NoCondition", "nothing in its status says whether it is ready"+OwnExpression, s.values("status.conditions", "status.phase")...)
	}
	return unmet("NoCondition", "its status does not clearly say that it is ready: "+strings.Join(words, "; ")+OwnExpression, valuesOf(conditions)...)
}

// sentence names a statement without its path where a condition or a top-level field is easy to find.
func sentence(one Statement) string {
	switch {
	case one.Condition && one.Within == "" && !slices.Contains([]any{"True", "False", "Unknown"}, one.Value):
		return fmt.Sprintf("its condition %s is %q, which is not True, False or Unknown", one.Name, fmt.Sprint(one.Value))
	case one.Condition && one.Within == "":
		message := "its condition " + one.Name + " is " + text.OneLine(fmt.Sprint(one.Value))
		if one.Meaning != Good {
			message += one.Detail()
		}
		return message
	case one.Name == "ready" && one.Value == true:
		return "it says that it is ready"
	case one.Name == "ready" && one.Value == false:
		return "it says that it is not ready"
	case one.Within == "" && !strings.Contains(one.Name, " "):
		if one.Meaning == Good {
			return "its " + one.Name + " is " + text.OneLine(fmt.Sprint(one.Value))
		}
		return "its " + one.String()
	}
	return one.String()
}

// isOfPart reports whether a condition speaks of a part of the object, such as IngressReady. It is a
// step on the way to a condition about the whole. A name that ends with Available says less: for
// three of the recorded kinds, ResourcesAvailable or the like is all that they ever report.
func isOfPart(one Statement) bool {
	words := split(one.Name)
	return one.Condition && !one.Sum && len(words) > 1 && words[len(words)-1] == "ready"
}

// isOldSum reports whether a statement says that the object was ready at an earlier generation.
func isOldSum(one Statement) bool {
	return one.Old && one.Sum && one.Condition && one.IsPositive()
}

func staleCondition(s *subject, kind string, generation int64) Verdict {
	c := s.condition(kind)
	return unmet("StaleStatus", fmt.Sprintf("its condition %s is for generation %d, but the object is at generation %d", kind, generation, s.generation),
		c.value(), c.generationValue(), Value{Expr: "self.metadata.generation", Value: s.generation})
}

// worst returns the statements with one of the given meanings, in the order of the given meanings.
// Statements with the same meaning keep their order.
func worst(message []Statement, meanings ...Meaning) []Statement {
	var out []Statement
	for _, m := range meanings {
		out = append(out, keep(message, func(one Statement) bool { return one.Meaning == m })...)
	}
	return out
}

func keep(message []Statement, wanted func(Statement) bool) []Statement {
	var out []Statement
	for _, one := range message {
		if wanted(one) {
			out = append(out, one)
		}
	}
	return out
}

func valuesOf(message []Statement) []Value {
	out := make([]Value, 0, 4)
	for _, one := range message[:min(4, len(message))] {
		out = append(out, Value{Expr: one.Path, Value: one.Value})
	}
	return out
}

func needs(kinds ...string) func(*subject) Verdict {
	return func(s *subject) Verdict {
		values := make([]Value, 0, len(kinds))
		for _, kind := range kinds {
			c := s.condition(kind)
			switch {
			case !c.exists():
				return unmet("NoStatus", "it has no condition "+kind+" yet", c.value())
			case c.old:
				return staleCondition(s, kind, c.generation)
			case !c.is("True"):
				return unmet("InProgress", "its condition "+kind+" is "+text.OneLine(c.status)+c.detail(), c.value())
			}
			values = append(values, c.value())
		}
		return met("its condition "+kinds[0]+" is True", values...)
	}
}

// unopposed returns the rule with an additional requirement: nothing in the status may contradict
// it.
func unopposed(rule func(*subject) Verdict) func(*subject) Verdict {
	return func(s *subject) Verdict {
		v := rule(s)
		if !v.Ready {
			return v
		}
		if no, found := objection(s, Read(s.obj)); found {
			return no
		}
		return v
	}
}

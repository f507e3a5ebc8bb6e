package readiness

import (
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// words returns the conditions that say of an object that it is ready, by
// convention. Ready, where there is one, sums up the others.
func words() []string {
	return []string{"Ready", "Succeeded", "Complete", "Completed", "Available", "Healthy", "Established", "Programmed", "Accepted"}
}

// conventions judges a kind that we do not know by what its status says. That
// nothing says otherwise does not make an object ready (edge case 48).
func conventions(s *subject) Verdict {
	if v, said := says(s); said {
		return v
	}
	if status, _ := at(s.obj, "status"); isEmpty(status) {
		return unmet("NoStatus", "it has no status: no controller has told of it yet", s.values("status")...)
	}
	return unmet("NoCondition", "nothing in its status says whether it is ready; wait for an expression of your own instead",
		s.values("status.conditions", "status.phase")...)
}

// conventionsOrExists is for kinds that may never have a status.
func conventionsOrExists(s *subject) Verdict {
	if v, said := says(s); said {
		return v
	}
	return met("it exists")
}

func isEmpty(status any) bool {
	m, ok := status.(map[string]any)
	return status == nil || ok && len(m) == 0
}

// says returns what the conditions say, or else the field ready or the phase.
func says(s *subject) (Verdict, bool) {
	if c := s.condition("Failed"); c.is("True") {
		return failed("Failed", "it has failed"+c.told(), c.value()), true
	}
	if s.condition("Ready").there() {
		return needs("Ready")(s), true
	}
	var there []string
	for _, word := range words() {
		if s.condition(word).there() {
			there = append(there, word)
		}
	}
	if len(there) > 0 {
		return needs(there...)(s), true
	}
	if ready, found := at(s.obj, "status.ready"); found && ready == true {
		return met("it says that it is ready", s.values("status.ready")...), true
	} else if found && ready == false {
		return unmet("InProgress", "it says that it is not ready", s.values("status.ready")...), true
	}
	if phase := s.text("status.phase"); slices.Contains(words(), phase) {
		return met("its phase is "+phase, s.values("status.phase")...), true
	}
	return Verdict{}, false
}

// needs is the rule of a kind that is ready when all of some conditions are True.
func needs(kinds ...string) func(*subject) Verdict {
	return func(s *subject) Verdict {
		values := make([]Value, 0, len(kinds))
		for _, kind := range kinds {
			c := s.condition(kind)
			switch {
			case !c.there():
				return unmet("NoStatus", "it has no condition "+kind+" yet", c.value())
			case c.old:
				return unmet("StaleStatus", fmt.Sprintf("its condition %s is of generation %d, and the object is at generation %d", kind, c.generation, s.generation),
					c.value(), c.generationValue(), Value{Expr: "self.metadata.generation", Value: s.generation})
			case !c.is("True"):
				return unmet("InProgress", "its condition "+kind+" is "+text.OneLine(c.status)+c.told(), c.value())
			}
			values = append(values, c.value())
		}
		return met("its condition "+kinds[0]+" is True", values...)
	}
}

package readiness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// counts reads how many of something are as they should be, of how many: readyReplicas of replicas,
// readyInstances of instances, numberReady of desiredNumberScheduled. The wanted number is in the
// spec or in the status; the higher one counts.
func (r *reader) counts(path, within string, spec, fields map[string]any) {
	for _, name := range sortedKeys(fields) {
		n, ok := number(fields[name])
		which, of := countOf(name)
		if !ok || which == "" {
			continue
		}
		s := Statement{Path: path + "." + name, Name: name, Within: within, Value: n, Meaning: Working}
		if which == "unavailable" {
			if n > 0 {
				r.out = append(r.out, s)
			}
			continue
		}
		if total, found := totalOf(of, spec, fields); found {
			s.Value, s.Meaning = fmt.Sprintf("%d of %d", n, total), enough(n, total)
			if wanted, stated := number(spec[of]); stated && wanted == 0 && n == 0 && total == 0 && r.observed {
				s.Meaning = Good
			}
			r.out = append(r.out, s)
		}
	}
	wanted, stated := number(spec["replicas"])
	if n, ok := number(fields["replicas"]); ok && stated && n > wanted {
		r.out = append(r.out, Statement{Path: path + ".replicas", Name: "replicas", Within: within, Value: fmt.Sprintf("%d, and %d are wanted", n, wanted), Meaning: Working})
	}
}

func number(v any) (int64, bool) {
	if _, isText := v.(string); isText {
		return 0, false
	}
	return object.WholeNumber(v)
}

// countOf splits the name of a count into what it counts and of which: readyReplicas is
// the ready ones of replicas.
func countOf(name string) (which, of string) {
	for _, which := range []string{"ready", "available", "updated", "upToDate", "unavailable", "healthy"} {
		if rest, ok := strings.CutPrefix(name, which); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return which, strings.ToLower(rest[:1]) + rest[1:]
		}
	}
	switch name {
	case "numberReady", "numberAvailable":
		return "ready", "numberScheduled"
	case "ready":
		return "ready", "size"
	case "currentHealthy", "currentReady":
		return "healthy", name[len("current"):]
	}
	return "", ""
}

// totalOf is how many are wanted.
func totalOf(of string, spec, fields map[string]any) (int64, bool) {
	title := strings.ToUpper(of[:1]) + of[1:]
	wanted := []any{fields[of], fields["desired"+title], fields["total"+title], fields["matched"+title], fields["expected"+title]}
	if of == title { // currentHealthy counts machines, or whatever is expected.
		for name, v := range fields {
			if strings.HasPrefix(name, "expected") {
				wanted = append(wanted, v)
			}
		}
	}
	if slices.Contains(totals(), of) {
		wanted = append(wanted, spec[of])
	}
	var total int64
	found := false
	for _, v := range wanted {
		if n, ok := number(v); ok {
			total, found = max(total, n), true
		}
	}
	return total, found
}

// totals are the fields of a spec that say how many are wanted.
func totals() []string { return []string{"replicas", "instances", "nodes", "members"} }

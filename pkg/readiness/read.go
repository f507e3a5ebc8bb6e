package readiness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Read returns the statements that an object's status makes about the object. Those about the whole
// object come first, then those about parts.
func Read(obj map[string]any) []Statement {
	meta, _ := obj["metadata"].(map[string]any)
	kind, _ := obj["kind"].(string)
	status, _ := obj["status"].(map[string]any)
	r := &reader{kind: split(kind)}
	r.generation, _ = object.WholeNumber(meta["generation"])
	r.ends = runsToItsEnd(r.kind, status)
	seen, _ := object.WholeNumber(status["observedGeneration"])
	r.observed = r.generation > 0 && seen == r.generation
	r.stops(meta, obj)
	spec, _ := obj["spec"].(map[string]any)
	r.counts("self.status", "", spec, status)
	r.fields("self.status", "", status)
	r.forget()
	slices.SortStableFunc(r.out, func(a, b Statement) int {
		return cmp.Compare(rank(a), rank(b))
	})
	return r.out
}

// forget sets the meaning of a statement to Nothing if one about the whole object overrides it. An
// object that has ended is neither in progress nor paused: some controllers leave Running set to
// True after they set Complete, and spec.suspend only prevents further progress. An object that is
// Ready may also be active.
func (r *reader) forget() {
	over, ended, ready := false, false, false
	for _, s := range r.out {
		if !s.Sum || s.Meaning != Good {
			continue
		}
		ready = ready || s.Condition && s.Name == "Ready"
		word := s.Name
		if !s.Condition {
			word = fmt.Sprint(s.Value)
		}
		ended = ended || r.ends && slices.Contains([]string{"complete", "completed", "succeeded", "succeed"}, strings.ToLower(word))
		over = over || ended && s.Condition
	}
	for i, s := range r.out {
		class, negated := nameClass(split(s.Name))
		if !s.Condition && s.Meaning == Working {
			class, negated = phraseClass(fmt.Sprint(s.Value)), false
		}
		switch {
		case over && !negated && s.Condition && s.Meaning == Working && s.Value == "True",
			ended && s.Meaning == Paused && strings.HasPrefix(s.Path, "self.spec."),
			ready && !negated && class == runs && s.Meaning == Working:
			r.out[i].Meaning = Nothing
		}
	}
}

func rank(s Statement) int {
	switch {
	case s.Sum && s.Name == "Ready":
		return 0
	case s.Sum && s.Condition:
		return 1
	case s.Sum:
		return 2
	}
	return 3
}

// runsToItsEnd reports whether an object represents work that ends, judging by its kind's name or
// by a completion time in its status.
func runsToItsEnd(kind []string, status map[string]any) bool {
	for name := range status {
		words := split(name)
		if first := words[:min(1, len(words))]; len(words) > 1 && (slices.Contains(first, "completion") || slices.Contains(first, "completed") || slices.Contains(first, "finished")) &&
			slices.Contains([]string{"time", "timestamp", "at"}, words[len(words)-1]) {
			return true
		}
	}
	if len(kind) == 0 {
		return false
	}
	return slices.Contains([]string{
		"job", "run", "workflow", "task", "backup", "restore", "build", "migration", "execution", "import", "export",
		"test", "experiment", "upload", "clone", "upgrade", "operation", "command", "scan", "request", "replay", "promotion",
		"trial", "maintenance", "remediation", "evaluation", "rollback", "dump", "benchmark",
	}, kind[len(kind)-1])
}

// fields reads the fields in a fixed order, so that messages do not vary. It goes down one level only: objects
// further below describe parts of the object.
func (r *reader) fields(path, within string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := path + "." + name
		words := split(name)
		if len(words) == 0 || isPast(words) {
			continue
		}
		switch v := fields[name].(type) {
		case []any:
			r.list(at, within, name, words, v)
		case bool:
			r.boolean(at, within, name, words, v)
		case string:
			r.text(at, within, name, words, v, fields)
		case map[string]any:
			if isErrorField(words) && len(v) > 0 {
				r.error(at, within, name, v["message"])
			} else if within == "" && name != "conditions" && !r.isCopy(name, fields) {
				r.counts(at, name, nil, v)
				r.fields(at, name, v)
				r.parts(at, name, words, v)
			}
		}
	}
}

// isCopy reports whether a field copies a response from a cloud API, as Crossplane's atProvider
// does. The words in the copy describe parts of the cloud. The object's conditions say what the
// state of these parts means for the object.
func (r *reader) isCopy(name string, fields map[string]any) bool {
	conditions, _ := fields["conditions"].([]any)
	return name == "atProvider" && len(conditions) > 0
}

// parts reads plain states, as in associationsStatus: {es: Established}, and maps with a state, as
// in statuses: {gloo: {state: Accepted}}.
func (r *reader) parts(path, within string, words []string, parts map[string]any) {
	last := words[len(words)-1]
	if r.ends || isRecord(last) {
		return // Repeated steps and former states do not describe the present.
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		at := path + `["` + name + `"]`
		switch part := parts[name].(type) {
		case string:
			if isStateField(strings.TrimSuffix(last, "es")) && len(split(name)) > 0 && !knowsField(split(name)) {
				r.readWord(at, within, name, split(name), part, nil)
			}
		case map[string]any:
			if !strings.HasSuffix(last, "s") || last == "status" || len(split(name)) > 0 && isPast(split(name)) {
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(part)) {
				if v, ok := part[field].(string); ok && v != "" && (field == "state" || field == "phase" || field == "health") {
					r.readWord(at+"."+field, within+" "+name, field, split(field), v, part)
				}
			}
		}
	}
}

func isRecord(word string) bool {
	return slices.Contains([]string{"history", "revisions", "versions", "attempts", "runs", "backups", "snapshots", "events"}, word)
}

// list reads a list of conditions, or of parts with conditions, such as the listeners of a gateway.
func (r *reader) list(path, within, name string, words []string, list []any) {
	switch {
	case words[len(words)-1] == "conditions":
		for _, c := range object.ConditionsIn(list) {
			r.condition(path, within, c)
		}
		return
	case isErrorField(words) && len(list) > 0 && within == "":
		r.error(path, within, name, list[0])
		return
	case within != "":
		return
	}
	for i, item := range list {
		part, _ := item.(map[string]any)
		called := partName(part, i)
		at, within := path+"["+called+"]", name+" "+called
		r.counts(at, within, nil, part)
		r.flags(at, within, part)
		r.badWords(at, within, words, part)
		for _, c := range object.ConditionsIn(part["conditions"]) {
			r.condition(at+".conditions", within, c)
		}
	}
}

// badWords adds the state of a part only if the state is bad. A state that is merely unfinished
// does not count, because the part may be optional.
func (r *reader) badWords(path, within string, list []string, part map[string]any) {
	if r.ends || isRecord(list[len(list)-1]) {
		return
	}
	for _, name := range sortedKeys(part) {
		words := split(name)
		if v, ok := part[name].(string); ok && len(words) == 1 && isStateField(words[0]) && phraseClass(v) == bad {
			r.readWord(path+"."+name, within, name, words, v, part)
		}
	}
}

func (r *reader) flags(path, within string, part map[string]any) {
	for _, name := range sortedKeys(part) {
		words := split(name)
		if v, ok := part[name].(bool); ok && len(words) == 1 {
			r.boolean(path+"."+name, within, name, words, v)
		}
	}
}

func partName(part map[string]any, i int) string {
	for _, ref := range []string{"parentRef", "ancestorRef", "targetRef"} {
		if r, ok := part[ref].(map[string]any); ok {
			part = r
			break
		}
	}
	for _, key := range []string{"name", "clusterName", "clustername", "cluster", "id"} {
		if name, ok := part[key].(string); ok {
			return name
		}
	}
	return fmt.Sprint(i)
}

func (r *reader) condition(path, within string, c object.Condition) {
	if c.Status == "" {
		return
	}
	words := split(c.Type)
	class, negated := nameClass(words)
	s := Statement{
		Path: path + `[type="` + c.Type + `"].status`, Name: c.Type, Within: within, Value: c.Status,
		Reason: c.Reason, Message: c.Message, Condition: true, Since: c.Changed, Generation: c.ObservedGeneration,
		Final: isFinal(c.Reason),
	}
	s.Sum = within == "" && r.isWhole(words)
	// Some controllers copy conditions from other objects, whose generation may be higher.
	s.Old = c.ObservedGeneration > 0 && c.ObservedGeneration < r.generation
	if list, _, _ := strings.Cut(within, " "); s.Old && class == good && !negated && (list == "parents" || list == "ancestors") {
		// Each parent of a route or a policy must report on the current generation (Gateway API,
		// PolicyAncestorStatus).
		s.Old, s.Meaning, s.Reason, s.Message = false, Working, fmt.Sprintf("of generation %d", c.ObservedGeneration), ""
		r.out = append(r.out, s)
		return
	}
	if c.Type == "Running" && reportsWork(c.Message) {
		class = working // The operator is running, not the object.
	}
	if past := len(words) > 0 && isPast(words) && class != none; !s.Old && !past {
		s.Meaning = r.meaning(class, negated, c)
		if c.Status == "Unknown" && s.Meaning == Working && !s.Sum {
			s.Meaning = NotYet // A part may remain unknown.
		}
	}
	r.out = append(r.out, s)
}

// reportsWork reports whether a message begins by describing work in progress, as in "Creating the
// queue".
func reportsWork(message string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(message), " ")
	return strings.HasSuffix(strings.TrimRight(first, ".:…"), "ing")
}

// Reads returns the paths that [Read] reads, each including everything below it, except the paths
// that identify an object.
func Reads() [][]string {
	out := [][]string{{"status"}, {"metadata", "annotations"}}
	for _, name := range stopFields() {
		out = append(out, []string{"spec", name})
	}
	for _, name := range totals() {
		out = append(out, []string{"spec", name})
	}
	return out
}

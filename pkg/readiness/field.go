package readiness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func (r *reader) boolean(path, within, name string, words []string, v bool) {
	class, negated := nameClass(words)
	status := "False"
	if v {
		status = "True"
	}
	m := r.meaning(class, negated, object.Condition{Type: name, Status: status})
	if m == Failed || !v && len(words) == 1 && (name == "pass" || name == "passed") { // a verdict
		m, class = Bad, bad
	}
	setting := class == working && words[0] != "is"
	if m == Nothing || setting || class == none { // Many such fields are settings.
		return
	}
	r.out = append(r.out, Statement{Path: path, Name: fieldName(within, name), Value: v, Meaning: m, Sum: within == "" && r.isWhole(words)})
}

func (r *reader) text(path, within, name string, words []string, v string, beside map[string]any) {
	last := words[len(words)-1]
	switch {
	case v == "":
	case isErrorField(words):
		r.error(path, within, name, v)
	case isOutcome(last):
		// The field contains the result of the last attempt. It describes the present only if the
		// attempt failed.
		if phraseClass(v) == bad {
			r.error(path, within, name, v)
		}
	case isStateField(last):
		r.readWord(path, within, name, words, v, beside)
	case last == "ready" || last == "replicas":
		var n, of int64
		if _, err := fmt.Sscanf(v, "%d/%d", &n, &of); err == nil && fmt.Sprintf("%d/%d", n, of) == v {
			r.out = append(r.out, Statement{Path: path, Name: fieldName(within, name), Value: v, Meaning: enough(n, of)})
		} else if last == "ready" && (v == "True" || v == "true" || v == "False" || v == "false") {
			r.boolean(path, within, name, words, strings.EqualFold(v, "true"))
		}
	}
}

func isStateField(word string) bool {
	return slices.Contains([]string{"phase", "state", "status", "health", "robustness", "compliant", "compliance"}, word)
}

func isOutcome(word string) bool {
	return slices.Contains([]string{"verdict", "result", "outcome", "conclusion"}, word)
}

func knowsField(words []string) bool {
	last := words[len(words)-1]
	return isPast(words) || isErrorField(words) || isStateField(last) || isOutcome(last) ||
		slices.Contains([]string{"ready", "replicas", "reason", "message", "description", "type", "name", "version", "time"}, last)
}

// readWord reads a field whose value is a word, such as phase: Running. Kinds name the reason and the message
// beside it in many ways, so it tries all common names.
func (r *reader) readWord(path, within, name string, words []string, v string, beside map[string]any) {
	s := Statement{
		Path: path, Name: fieldName(within, name), Value: v,
		Sum: within == "" && r.isWhole(words),
	}
	for _, key := range []string{"reason", name + "Reason"} {
		s.Reason = firstText(s.Reason, beside[key])
	}
	for _, key := range []string{
		"message", name + "Message", name + "Msg", "statusMessage", "info", "description",
		"errorDescription", "errorMessage", "details", "messages",
	} {
		s.Message = firstText(s.Message, beside[key])
	}
	switch phraseClass(v) {
	case good, mild:
		s.Meaning = Good
	case runs:
		s.Meaning = Good
		if r.ends {
			s.Meaning = Working
		}
	case step:
		s.Meaning = Step
	case working:
		s.Meaning = Working
	case paused:
		s.Meaning = Paused
	case bad:
		s.Meaning = Bad
		if s.Sum && isEnd(v, r.ends) {
			s.Meaning = Failed
		}
	default:
		switch {
		case v == "100%":
			s.Meaning = Good
		case strings.HasSuffix(v, "%"):
			s.Meaning = Working
		case s.Sum:
			s.Meaning = Odd
		}
	}
	r.out = append(r.out, s)
}

// isEnd reports whether a bad phase is final, so that the object will not recover.
func isEnd(phase string, ends bool) bool {
	words := split(phase)
	if ends {
		return slices.Contains(words, "failed") || slices.Contains(words, "failure")
	}
	return len(words) == 1 && words[0] == "failed" // Work that never ends is retried after a failure.
}

// firstText returns known, unless known is empty. In that case, it returns the first text in v,
// which is a string, a list of strings, or a map of strings.
func firstText(known string, v any) string {
	if known != "" {
		return known
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, item := range v {
			if s, ok := item.(string); ok && s != "" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "; ")
	case map[string]any:
		var texts []string
		for _, name := range sortedKeys(v) {
			if s, ok := v[name].(string); ok && s != "" {
				texts = append(texts, name+": "+s)
			}
		}
		return strings.Join(texts, "; ")
	}
	return known
}

func fieldName(within, name string) string {
	if within == "" {
		return name
	}
	return within + "." + name
}

func isErrorField(words []string) bool {
	last := words[len(words)-1]
	isError := func(word string) bool {
		return word == "error" || word == "failure" || word == "err" || word == "errors"
	}
	if isError(last) {
		return true
	}
	return len(words) > 1 && isError(words[len(words)-2]) && (last == "message" || last == "msg" || last == "reason")
}

func (r *reader) error(path, within, name string, v any) {
	if m, ok := v.(map[string]any); ok {
		v = m["message"]
	}
	message, _ := v.(string)
	if slices.Contains([]string{"none", "nil", "<nil>", "null", "n/a", "noerror", "no error", "ok"}, strings.ToLower(message)) {
		return
	}
	r.out = append(r.out, Statement{Path: path, Name: fieldName(within, name), Value: cmp.Or(message, "set"), Meaning: Bad, Sum: false})
}

// stops adds a statement for each way in which a user has stopped the controller: spec.paused,
// spec.suspend, or an annotation such as crossplane.io/paused.
func (r *reader) stops(meta map[string]any, obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	for _, name := range stopFields() {
		if v, _ := spec[name].(bool); v {
			r.out = append(r.out, Statement{Path: "self.spec." + name, Name: "spec." + name, Value: v, Meaning: Paused})
		}
	}
	annotations, _ := meta["annotations"].(map[string]any)
	for _, name := range sortedKeys(annotations) {
		v, _ := annotations[name].(string)
		_, last, _ := strings.Cut(name, "/")
		if isStopName(last) && (v == "true" || v == "on" || v == "") {
			r.out = append(r.out, Statement{Path: `self.metadata.annotations["` + name + `"]`, Name: "the annotation " + name, Value: v, Meaning: Paused})
		}
	}
}

func stopFields() []string {
	return []string{"paused", "pause", "suspend", "suspended", "hibernate", "hibernated", "stopped", "shutdown", "stop"}
}

func isStopName(name string) bool {
	words := split(name)
	if len(words) == 0 || isNegation(words[0]) {
		return false
	}
	if slices.Contains([]string{"paused", "suspended", "hibernated", "hibernation"}, words[len(words)-1]) {
		return true
	}
	return words[0] == "pause" && len(words) <= 2 || len(words) == 1 && words[0] == "suspend"
}

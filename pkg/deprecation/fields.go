package deprecation

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fields returns the deprecated fields that are set in an object, for a server of the given
// release. If the release is unknown, it returns only fields whose deprecation has no known
// release.
func Fields(u *unstructured.Unstructured, server Release) []FieldNotice {
	if u == nil {
		return nil
	}
	s := search{server: server}
	capacity := make([]step, 0, 16)
	for _, rules := range rulesFor(u.GroupVersionKind().GroupKind()) {
		base, at, ok := descend(u.Object, rules.base, capacity)
		if !ok {
			continue
		}
		for _, r := range rules.rules {
			if r.applies(base, server) {
				s.rule = r
				s.walk(base, r.path, at)
			}
		}
	}
	return s.found
}

// NewFields returns the [Fields] of the new version of an object that were not set in the old one.
func NewFields(old, updated *unstructured.Unstructured, server Release) []FieldNotice {
	found := Fields(updated, server)
	if len(found) == 0 {
		return nil // Most objects set no deprecated fields.
	}
	had := map[string]bool{}
	for _, n := range Fields(old, server) {
		had[n.spot] = true
	}
	found = slices.DeleteFunc(found, func(n FieldNotice) bool { return had[n.spot] })
	if old != nil && !warnsOnUpdate(updated.GroupVersionKind().GroupKind()) {
		for i := range found {
			found[i].ServerWarns = false
		}
	}
	return found
}

// warnsOnUpdate reports whether the API server warns about new fields in an update. The server does
// not do so for Pods and Ingresses, nor for ReplicationControllers, whose old template it examines.
func warnsOnUpdate(kind schema.GroupKind) bool {
	return kind != schema.GroupKind{Kind: "Pod"} && kind != schema.GroupKind{Kind: "ReplicationController"} && kind.Kind != "Ingress"
}

func rulesFor(kind schema.GroupKind) []ruleSet {
	switch kind {
	case schema.GroupKind{Kind: "Pod"}:
		return []ruleSet{{rules: podRules()}}
	case schema.GroupKind{Kind: "PodTemplate"}:
		return []ruleSet{{base: "template", rules: podRules()}}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return []ruleSet{{base: "spec.template", rules: podRules()}, {base: "spec", rules: claimTemplateRules()}}
	case schema.GroupKind{Kind: "ReplicationController"},
		schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "extensions", Kind: "Deployment"},
		schema.GroupKind{Group: "extensions", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "extensions", Kind: "DaemonSet"},
		schema.GroupKind{Group: "batch", Kind: "Job"}:
		return []ruleSet{{base: "spec.template", rules: podRules()}}
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return []ruleSet{{base: "spec.jobTemplate.spec.template", rules: podRules()}}
	}
	return []ruleSet{{rules: objectRules(kind)}}
}

func (r rule) applies(base map[string]any, server Release) bool {
	if !r.since.IsZero() && !server.reached(r.since) {
		return false
	}
	return !slices.ContainsFunc(r.unless, func(path string) bool {
		s := search{}
		s.walk(base, path, nil)
		return len(s.found) > 0
	})
}

func descend(object map[string]any, path string, at []step) (map[string]any, []step, bool) {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		below, ok := object[name].(map[string]any)
		if !ok {
			return nil, nil, false
		}
		object, at = below, append(at, step{field: name})
	}
	return object, at, true
}

type step struct {
	field string
	item  any
	index int
}

type search struct {
	server Release
	rule   rule
	found  []FieldNotice
}

func (s *search) walk(node any, path string, at []step) {
	if path == "" {
		s.arrive(node, at)
		return
	}
	m, _ := node.(map[string]any)
	first, rest, _ := strings.Cut(path, ".")
	name, list := strings.CutSuffix(first, "[]")
	below, there := m[name]
	if !there {
		return
	}
	at = append(at, step{field: name})
	if !list {
		s.walk(below, rest, at)
		return
	}
	items, _ := below.([]any)
	for i, item := range items {
		s.walk(item, rest, append(at, step{item: item, index: i}))
	}
}

func (s *search) arrive(node any, at []step) {
	switch r := s.rule; {
	case r.labels:
		s.label(node, at)
	case r.key != "":
		m, _ := node.(map[string]any)
		for _, key := range matching(m, r.key) {
			s.add(append(at, step{field: key}), r)
		}
	case r.value != "":
		if text, _ := node.(string); text == r.value {
			s.add(at, r)
		}
	case isSet(node):
		s.add(at, r)
	}
}

func (s *search) label(node any, at []step) {
	text, _ := node.(string)
	m, _ := node.(map[string]any)
	if text == "" && len(m) == 0 {
		return
	}
	for _, l := range nodeLabels() {
		if !s.server.reached(l.since) {
			continue
		}
		r := rule{since: l.since, use: l.use, serverWarns: s.rule.serverWarns}
		if _, ok := m[l.name]; ok {
			s.add(append(at, step{field: l.name}), r)
		}
		if text == l.name {
			r.value = l.name
			s.add(at, r)
		}
	}
}

func matching(m map[string]any, pattern string) []string {
	prefix, wild := strings.CutSuffix(pattern, "*")
	if !wild {
		if _, ok := m[pattern]; ok {
			return []string{pattern}
		}
		return nil
	}
	var keys []string
	for key := range m {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func isSet(node any) bool {
	switch node := node.(type) {
	case nil:
		return false
	case string:
		return node != ""
	case []any:
		return len(node) > 0
	}
	return true
}

func (s *search) add(at []step, r rule) {
	n := FieldNotice{Path: place(at, true), Value: r.value, Since: r.since, Use: r.use, ServerWarns: r.serverWarns}
	if s.server.reached(r.gone) {
		n.Gone = r.gone
	}
	n.spot, n.steps = place(at, false)+": "+r.value, stepsOf(at)
	s.found = append(s.found, n)
}

func stepsOf(at []step) []any {
	steps := make([]any, len(at))
	for i, s := range at {
		if steps[i] = s.field; s.field == "" {
			steps[i] = s.index
		}
	}
	return steps
}

func place(at []step, numbered bool) string {
	var b []byte
	for _, s := range at {
		switch {
		case s.field != "" && !strings.ContainsAny(s.field, "./"):
			b = append(append(b, '.'), s.field...)
		case s.field != "":
			b = append(strconv.AppendQuote(append(b, '['), s.field), ']')
		default:
			b = appendItem(b, s, numbered)
		}
	}
	return string(b)
}

func appendItem(b []byte, s step, numbered bool) []byte {
	m, _ := s.item.(map[string]any)
	if name, _ := m["name"].(string); name != "" {
		return append(strconv.AppendQuote(append(b, "[name="...), name), ']')
	}
	if numbered {
		return append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
	}
	return append(b, "[]"...)
}

package deprecation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FieldNotice says that an object has a field that is deprecated.
type FieldNotice struct {
	// Path is where, in the notation of field ownership; items of lists without a
	// name are numbered. It holds names, and no value.
	Path string
	// Value is what is deprecated at the path, if it is not the field itself: a term
	// of Kubernetes, such as the name of a label, never a user's own.
	Value string
	// Since and Gone are the releases in which the field was deprecated and in which
	// it lost its function; zero if unknown, or still to come.
	Since, Gone Release
	// Use is what to do instead, to be read after "use"; empty if there is nothing.
	Use string
	// spot is Path without numbers, and Value: the position in a list does not make
	// it new.
	spot string
}

// String returns one line without control characters, of at most [MaxText] bytes. A
// path that is too long loses its middle.
//
//	.spec.volumes[name="logs"].flexVolume is deprecated since 1.23; use a CSI driver
//	.spec.trafficDistribution: PreferClose is deprecated since 1.34; use PreferSameZone
func (n FieldNotice) String() string {
	var b strings.Builder
	if n.Value != "" {
		b.WriteString(": " + n.Value)
	}
	b.WriteString(" is deprecated")
	if !n.Since.IsZero() {
		b.WriteString(" since " + n.Since.String())
	}
	if !n.Gone.IsZero() {
		b.WriteString(", without function since " + n.Gone.String())
	}
	if n.Use != "" {
		b.WriteString("; use " + n.Use)
	}
	return line(shorten(n.Path, MaxText-b.Len()) + b.String())
}

// Fields returns the deprecated fields that an object of Kubernetes has set, for a
// server of the given release: none that it has not deprecated yet, and only those
// without a date if its release is not known.
func Fields(u *unstructured.Unstructured, server Release) []FieldNotice {
	if u == nil {
		return nil
	}
	s := search{server: server}
	room := make([]step, 0, 16)
	for _, rules := range rulesFor(u.GroupVersionKind().GroupKind()) {
		base, at, ok := descend(u.Object, rules.base, room)
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

// NewFields returns what [Fields] returns for the new version of an object, without
// what the old one had set already.
func NewFields(old, updated *unstructured.Unstructured, server Release) []FieldNotice {
	found := Fields(updated, server)
	if len(found) == 0 {
		return nil // Most objects have none: the old one need not be looked at.
	}
	had := map[string]bool{}
	for _, n := range Fields(old, server) {
		had[n.spot] = true
	}
	return slices.DeleteFunc(found, func(n FieldNotice) bool { return had[n.spot] })
}

// rule is a deprecated field, and how to recognize it.
type rule struct {
	// path leads to it from the root of its rules; [] stands for each item of a list.
	path string
	// key is a key of the map at path; a trailing * stands for any rest.
	key string
	// value is the deprecated one; any, if empty.
	value string
	// labels: look for the deprecated labels of nodes, with their own releases and
	// replacements.
	labels bool
	// unless are paths to its replacement: if one is set, the field is not reported,
	// since the API server may have filled it in.
	unless      []string
	since, gone Release
	use         string
	// source says who deprecated it: a field of k8s.io/api, or another source.
	source string
}

// ruleSet is the rules for what lies below a path.
type ruleSet struct {
	base  string
	rules []rule
}

// rulesFor returns what to look for in a kind, at any of its versions.
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

package sweep_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// judgeFirst judges the first run, which creates the objects or takes them over.
func (b *trial) judgeFirst(before, after map[string]map[string]any, diff, dry, first report) {
	applied, compared, tried := first.byName(), diff.byName(), dry.byName()
	for name := range b.objects {
		got, ok := applied[name]
		switch {
		case !ok:
			continue // left out
		case b.how.create == nil && got.Action != "created":
			b.fault("a create that the server accepts is "+got.Action, name, got.Error.Message)
		case got.Action == "failed":
			b.fault("a takeover is refused, although the create passed", name, got.Error.Message)
		case got.Action == "conflict":
			b.fault("a takeover of equal values is in conflict", name, "")
		}
		b.judgeWarnings(name, got)
		if b.how.create == nil {
			if d := differences("", created(b.answers[name]), created(after[name])); len(d) > 0 {
				b.fault("the object is created otherwise than the server would", name, strings.Join(d, ", "))
			}
			continue
		}
		b.judgeSame(name, got, compared[name], tried[name])
		if d := differences("", content(before[name]), content(after[name])); len(d) > 0 {
			b.fault("a takeover changes the object", name, got.Action+": "+strings.Join(d, ", "))
		}
		if !reflect.DeepEqual(generation(before[name]), generation(after[name])) && got.Action == "unchanged" {
			b.fault("unchanged, but the generation changed", name, "")
		}
	}
}

// judgeWarnings judges what the warnings blame. Nothing but the server changes objects here. It drops
// some values itself: those of a feature that is disabled or gone, of an alternative that is not
// chosen, and the identity of the user who asks for a certificate.
func (b *trial) judgeWarnings(name string, got verdict) {
	for _, w := range got.Warnings {
		if strings.Contains(w, "rewrites") || strings.Contains(w, "removes it") && !b.isDropped(name, w) {
			b.fault("a warning says that something rewrites or removes the server's own default", name, w)
		}
	}
}

// isDropped reports whether a warning is about a value that the server itself drops. The cluster does not
// have what the manifest says then, so each run warns.
func (b *trial) isDropped(name, warning string) bool {
	path, _, dropped := strings.Cut(warning, " is not stored, although your manifest has ")
	return dropped && strings.Contains(warning, ": the API server or ") &&
		(b.kind.kind == "CertificateSigningRequest" || lacksField(b.answers[name], path[strings.LastIndex(path, " ")+1:]))
}

// lacksField reports whether an object has no field with the name of one of the path's fields.
func lacksField(object map[string]any, path string) bool {
	text := encode(object)
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		field, _, _ := strings.Cut(part, "[")
		if !strings.Contains(text, `"`+field+`":`) {
			return true
		}
	}
	return false
}

func (b *trial) judgeSame(name string, applied, compared, tried verdict) {
	if !same(applied.Action, compared.Action) {
		b.fault("diff and apply differ", name, fmt.Sprintf("diff %s, apply %s: %s", compared.Action, applied.Action, compared.Error.Message))
	}
	if !same(applied.Action, tried.Action) {
		b.fault("the dry run and apply differ", name, fmt.Sprintf("dry run %s, apply %s: %s", tried.Action, applied.Action, tried.Error.Message))
	}
}

// judgeSecond judges a run of the same manifests on the objects of the first.
func (b *trial) judgeSecond(t *testing.T, before map[string]map[string]any, first, diff, dry, second report) {
	t.Helper()
	writes := b.log.writes(t)
	after := b.api.list(t, b.kind.resource, b.namespace)
	applied, compared, tried, once := second.byName(), diff.byName(), dry.byName(), first.byName()
	for name := range b.objects {
		got, ok := applied[name]
		if !ok || once[name].Action == "failed" || once[name].Action == "conflict" {
			continue // judged in the first run
		}
		if got.Action != "unchanged" {
			b.fault("the second run is "+got.Action, name, got.Error.Message)
		}
		if n := writes[name]; n > 0 {
			b.fault("the second run writes", name, got.Action)
		}
		if !reflect.DeepEqual(generation(before[name]), generation(after[name])) && got.Action == "unchanged" {
			b.fault("unchanged, but the generation changed", name, "")
		}
		if d := differences("", content(before[name]), content(after[name])); len(d) > 0 {
			b.fault("the second run changes the object", name, got.Action+": "+strings.Join(d, ", "))
		}
		for _, w := range got.Warnings {
			if !strings.Contains(w, "deprecated") && !b.isDropped(name, w) { // the server's warning, in the dry run
				b.fault("the second run warns", name, w)
			}
		}
		b.judgeWarnings(name, got)
		b.judgeSame(name, got, compared[name], tried[name])
	}
}

// created is an object's content without what differs between two creates of it.
func created(object map[string]any) map[string]any {
	out := clone(content(object)).(map[string]any)
	meta, _ := out["metadata"].(map[string]any)
	delete(meta, "uid")
	delete(meta, "creationTimestamp")
	spec, ok := out["spec"].(map[string]any)
	if !ok {
		return out
	}
	switch out["kind"] {
	case "Service":
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		delete(spec, "healthCheckNodePort")
	case "Job":
		delete(spec, "selector")
		remove(spec, []step{"template", "metadata", "labels"})
		delete(meta, "labels")
	case "ResourceSlice":
		devices, _ := spec["devices"].([]any)
		for i := range devices {
			remove(spec, []step{"devices", i, "taints"}) // with the time
		}
	}
	return out
}

package companion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	replicaSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	controlled  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
)

// kept returns the templates of an object's revisions by number.
func (w *workload) kept(ctx context.Context, uid types.UID) (map[int64]map[string]any, error) {
	of := controlled
	if w.kind == "Deployment" {
		of = replicaSets
	}
	list, err := w.Resource(of).Namespace(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.name})
	if err != nil {
		return nil, err
	}
	out := map[int64]map[string]any{}
	for _, u := range list.Items {
		if len(u.GetOwnerReferences()) != 1 || u.GetOwnerReferences()[0].UID != uid {
			continue
		}
		if of == controlled {
			number, _, _ := unstructured.NestedInt64(u.Object, "revision")
			out[number], _, _ = unstructured.NestedMap(u.Object, "data", "spec", "template")
			delete(out[number], "$patch")
			continue
		}
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		unstructured.RemoveNestedField(template, "metadata", "labels", "pod-template-hash")
		a := u.GetAnnotations()
		for text := range strings.SplitSeq(a["deployment.kubernetes.io/revision"]+","+a["deployment.kubernetes.io/revision-history"], ",") {
			if number, err := strconv.ParseInt(text, 10, 64); err == nil {
				out[number] = template
			}
		}
	}
	return out, nil
}

// shown is the part of the verb's output that is judged.
type shown struct {
	Objects []struct {
		Revisions []shownRevision
	}
}

type shownRevision struct {
	Revision, Since, Of int64
	Reason              string
	Changes             []shownChange
}

type shownChange struct {
	Path, Change, User string
	From, To           any
	Order              bool
	Writer             *struct{ Manager, Operation, Subresource string }
	Time               time.Time
}

// verdict counts what is named.
type verdict struct{ revisions, changes, writers, users int }

func (v *verdict) add(o verdict) {
	v.revisions, v.changes, v.writers, v.users = v.revisions+o.revisions, v.changes+o.changes, v.writers+o.writers, v.users+o.users
}

func (w *workload) judge(t *testing.T, as ...string) (v verdict) {
	t.Helper()
	live, u, err := w.read(t)
	w.must(t, err)
	kept, err := w.kept(t.Context(), u.GetUID())
	w.must(t, err)
	message, status := w.plugin(t, "history", append([]string{w.kind + "/" + w.name, "-n", w.namespace, "-o", "json"}, as...)...)
	var s shown
	if err := json.Unmarshal([]byte(message), &s); err != nil || status != 0 || len(s.Objects) != 1 {
		t.Fatalf("%s: status %d, %v: %s", w.name, status, err, message)
	}
	all := s.Objects[0].Revisions
	numbers := slices.Sorted(maps.Keys(kept))
	slices.Reverse(numbers)
	var got []int64
	for _, r := range all {
		got = append(got, r.Revision)
	}
	if !slices.Equal(got, numbers) || textOf(kept[numbers[0]]) != textOf(live) {
		t.Errorf("%s: revisions %v, want %v", w.name, got, numbers)
		return v
	}
	for i, r := range all {
		v.revisions++
		complain := func(format string, args ...any) {
			t.Errorf("%s %v, revision %d: %s\nwrites: %s", w.name, as, r.Revision, fmt.Sprintf(format, args...), w.story())
		}
		if i+1 == len(all) {
			if r.Since != 0 || len(r.Changes) > 0 {
				complain("the first one is compared with %d", r.Since)
			}
			continue
		}
		if r.Since != numbers[i+1] {
			complain("compared with %d, want %d", r.Since, numbers[i+1])
			continue
		}
		root := copyOf(map[string]any{"spec": map[string]any{"template": kept[r.Since]}})
		for _, c := range r.Changes {
			v.changes++
			if c.Writer != nil {
				v.writers++
			}
			if c.User != "" {
				v.users++
			}
			// Without a record, a transfer leaves no trace.
			exempt := len(as) > 0 && w.gave && strings.HasSuffix(c.Path, ".image")
			if fault := w.judgeChange(r, c); fault != "" && !exempt {
				complain("%s: %s\nshown: %+v", c.Path, fault, c)
			}
			replace(root, tokens(c.Path), c)
		}
		if is := root["spec"].(map[string]any)["template"]; textOf(is) != textOf(kept[r.Revision]) {
			complain("the changes lead to %s, not to %s", textOf(is), textOf(kept[r.Revision]))
		}
		if fault := w.judgeReason(r, kept); fault != "" {
			complain("%s", fault)
		}
	}
	return v
}

// judgeChange compares a change's writer, user and time with the writes that led to the revision.
func (w *workload) judgeChange(r shownRevision, c shownChange) string {
	if c.Writer == nil && c.User == "" {
		return ""
	}
	// Revisions that were made between two looks share a count.
	alone := func(n int64) bool {
		for number, count := range w.rolled {
			if number != n && count == w.rolled[n] {
				return false
			}
		}
		return true
	}
	from := w.rolled[r.Since]
	if !alone(r.Since) {
		from = 0
		for _, count := range w.rolled {
			if count < w.rolled[r.Since] {
				from = max(from, count)
			}
		}
	}
	sure := alone(r.Revision) && alone(r.Since)
	var fits []write
	for _, one := range w.writes[from:w.rolled[r.Revision]] {
		before, after := find(one.before, c.Path), find(one.after, c.Path)
		if c.Order {
			before, after = keysOf(before, c.To), keysOf(after, c.To)
		}
		if !reflect.DeepEqual(before, after) && reflect.DeepEqual(after, c.To) {
			fits = append(fits, one)
		}
	}
	if sure && len(fits) > 0 {
		fits = fits[len(fits)-1:]
	}
	if led := w.writes[from:w.rolled[r.Revision]]; c.Writer == nil && sure && len(led) == 1 && led[0].manager != "kubectl" {
		return "it has one write, whose client named its manager"
	}
	for _, one := range fits {
		switch {
		case c.Writer != nil && (c.Writer.Manager != one.manager || c.Writer.Operation != one.operation || c.Writer.Subresource != ""):
		case c.User != "" && c.User != one.user:
		case c.Time.IsZero() || c.User == "" && w.wroteAt(c.Time, one.manager): // the last write of an owner
			return ""
		case c.Time.Before(one.from.Truncate(time.Second)) || c.Time.After(one.to.Add(time.Second)):
		default:
			return ""
		}
	}
	return fmt.Sprintf("no such write; these fit: %s", storyOf(fits))
}

func (w *workload) wroteAt(at time.Time, manager string) bool {
	return slices.ContainsFunc(w.all, func(one write) bool {
		return one.manager == manager && !at.Before(one.from.Truncate(time.Second)) && !at.After(one.to.Add(time.Second))
	})
}

// judgeReason refuses reasons that the templates contradict.
func (w *workload) judgeReason(r shownRevision, kept map[int64]map[string]any) string {
	earlier := false
	for number, template := range kept {
		earlier = earlier || number < r.Revision && textOf(template) == textOf(kept[r.Revision])
	}
	images := !slices.ContainsFunc(r.Changes, func(c shownChange) bool { return !strings.HasSuffix(c.Path, "].image") })
	restart := len(r.Changes) == 1 && strings.Contains(r.Changes[0].Path+textOf(r.Changes[0].To), "restartedAt")
	switch r.Reason {
	case "created", "unknown":
		return r.Reason + ", though there is an earlier one"
	case "undo":
		if w.kind == "Deployment" && (!earlier || textOf(kept[r.Of]) != textOf(kept[r.Revision])) {
			return fmt.Sprintf("no undo of %d", r.Of)
		}
	case "restart":
		if !restart || earlier {
			return "no restart"
		}
	case "images", "image-policy":
		if !images || earlier {
			return "not only images"
		}
		if r.Reason == "image-policy" && strings.HasPrefix(r.Changes[0].Writer.Manager, "kubectl") {
			return "a person's tool is no image policy"
		}
	case "template":
		if images || restart || earlier && w.kind == "Deployment" {
			return "not only a template"
		}
	default:
		return "reason " + r.Reason
	}
	return ""
}

func (w *workload) story() string { return storyOf(w.writes) + fmt.Sprintf("\nrolled: %v", w.rolled) }

func storyOf(writes []write) string {
	var b strings.Builder
	for i, one := range writes {
		fmt.Fprintf(&b, "\n  %d %s by %s (%s): %s", i+1, one.user, one.manager, one.from.Format("15:04:05.000"), textOf(one.after))
	}
	return b.String()
}

func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func copyOf(v map[string]any) (out map[string]any) {
	if err := json.Unmarshal([]byte(textOf(v)), &out); err != nil {
		panic(err)
	}
	return out
}

var token = regexp.MustCompile(`\.([A-Za-z0-9_-]+)|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]`)

// tokens splits a path: names, and keys of list items.
func tokens(path string) (out []any) {
	for _, m := range token.FindAllStringSubmatch(path, -1) {
		if m[3] == "" {
			out = append(out, m[1]+m[2])
			continue
		}
		var key map[string]any
		text := regexp.MustCompile(`(^|,)(\w+)=`).ReplaceAllString(m[3], `$1"$2":`)
		if err := json.Unmarshal([]byte("{"+text+"}"), &key); err != nil {
			panic(path)
		}
		out = append(out, key)
	}
	return out
}

// keysOf returns the keys of a list's items, in the form of other keys.
func keysOf(list, form any) any {
	out := []any{}
	items, _ := list.([]any)
	for _, item := range items {
		key := map[string]any{}
		for name := range form.([]any)[0].(map[string]any) {
			key[name] = item.(map[string]any)[name]
		}
		out = append(out, key)
	}
	return out
}

func at(holder any, token any) (any, int) {
	switch h := holder.(type) {
	case map[string]any:
		name, _ := token.(string)
		return h[name], 0
	case []any:
		for i, item := range h {
			if hasKey(item, token) {
				return item, i
			}
		}
	}
	return nil, -1
}

func hasKey(item, key any) bool {
	fields, _ := item.(map[string]any)
	for name, v := range key.(map[string]any) {
		if fmt.Sprint(fields[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}

// find returns the value at a path of a template, and nil if there is none.
func find(template map[string]any, path string) (v any) {
	v = copyOf(map[string]any{"spec": map[string]any{"template": template}})
	for _, token := range tokens(path) {
		v, _ = at(v, token)
	}
	return v
}

// replace makes a change, and returns the new value of the holder.
func replace(holder any, path []any, c shownChange) any {
	if len(path) == 0 {
		if !c.Order {
			return c.To
		}
		var out []any
		for _, key := range c.To.([]any) {
			item, _ := at(holder, key)
			out = append(out, item)
		}
		return out
	}
	below, i := at(holder, path[0])
	gone := len(path) == 1 && c.Change == "removed"
	switch h := holder.(type) {
	case map[string]any:
		if gone {
			delete(h, path[0].(string))
		} else {
			h[path[0].(string)] = replace(below, path[1:], c)
		}
	case []any:
		switch {
		case gone:
			return slices.Delete(h, i, i+1)
		case i < 0:
			return append(h, replace(nil, path[1:], c))
		}
		h[i] = replace(below, path[1:], c)
	}
	return holder
}

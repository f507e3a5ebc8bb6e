package owners_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

// subject is an object in a random cluster.
type subject struct {
	ref    object.Ref
	fields []metav1.ManagedFieldsEntry
}

// A survey can be merged from any parts, in any order. It must equal the result of a slow count,
// which lists every path of every object as text and counts the lines.
func TestSurveyEqualsSlowCount(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 16))
		cluster := randomCluster(random)
		question := randomQuestion(random)
		parts := make([]*owners.Counter, 1+random.IntN(4))
		for i := range parts {
			parts[i] = owners.New(question)
		}
		for _, s := range cluster {
			parts[random.IntN(len(parts))].Add(s.ref, s.fields)
		}
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		all := owners.New(question)
		for _, part := range parts {
			all.Merge(part)
		}
		want := judge(cluster, question)
		if diff := cmp.Diff(want, report(all.Result())); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// report returns a survey as lines, in the form of judge.
func report(s event.Surveyed) map[string]string {
	out := map[string]string{"objects": fmt.Sprint(s.Objects), "unmanaged": fmt.Sprint(s.Unmanaged)}
	for _, m := range s.Managers {
		out["manager "+m.Manager] = fmt.Sprint(m.Kinds, m.Objects, m.Fields.All, m.Fields.Shared, m.Expected)
	}
	for _, h := range s.Holdings {
		out[fmt.Sprint("row ", h.Owner.Manager, h.Owner.Operation, h.Owner.Subresource, h.Kind)] = fmt.Sprint(h.Objects, h.Fields.All, h.Fields.Shared)
	}
	for what, list := range map[string][]event.ObjectHolding{"leaving ": s.Leaving, "unexpected ": s.Unexpected} {
		for _, h := range list {
			texts := make([]string, len(h.Paths))
			for i, name := range h.Paths {
				texts[i] = string(name)
			}
			slices.Sort(texts)
			out[what+h.Ref.String()+" "+h.Manager] = fmt.Sprint(h.Fields.All, h.Fields.Shared, texts)
		}
	}
	for _, v := range s.Unserved {
		out[fmt.Sprint("version ", v.Owner.Manager, v.Owner.Operation, v.Owner.Subresource, v.Owner.APIVersion, v.Kind)] = fmt.Sprint(v.Objects)
	}
	return out
}

// judge counts in a slow and simple way, without field sets.
func judge(cluster []subject, q owners.Question) map[string]string {
	type count struct {
		objects, all, shared int
		reported             []string
	}
	rows, managers, versions := map[string]*count{}, map[string]*count{}, map[string]int{}
	out := map[string]string{}
	surprising := map[string]bool{}
	kindsOf := map[string]map[string]bool{}
	unmanaged := 0
	get := func(of map[string]*count, key string) *count {
		if of[key] == nil {
			of[key] = &count{}
		}
		return of[key]
	}
	for _, s := range cluster {
		if len(s.fields) == 0 {
			unmanaged++
		}
		byManager, byRow, written := map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
		of := map[string]string{}
		stale := map[string]bool{}
		put := func(to map[string]map[string]bool, key string, lines []string) {
			if to[key] == nil {
				to[key] = map[string]bool{}
			}
			for _, line := range lines {
				to[key][line] = true
			}
		}
		kind := s.ref.GVK.GroupKind()
		for _, f := range s.fields {
			if q.Managers != nil && !slices.Contains(q.Managers, f.Manager) {
				put(byManager, f.Manager, linesOf(f)) // They share the field nevertheless.
				continue
			}
			row := fmt.Sprint("row ", f.Manager, string(f.Operation), f.Subresource, kind)
			of[row] = f.Manager
			put(byManager, f.Manager, linesOf(f))
			put(byRow, row, linesOf(f))
			if f.Subresource != "status" {
				put(written, f.Manager, linesOf(f))
			}
			if q.Served != nil && !q.Served(schema.FromAPIVersionAndKind(f.APIVersion, kind.Kind)) {
				stale[fmt.Sprint("version ", f.Manager, string(f.Operation), f.Subresource, f.APIVersion, kind)] = true
			}
		}
		shared := func(line, manager string) bool {
			for other, lines := range byManager {
				for theirs := range lines {
					if other != manager && (theirs == line || strings.HasPrefix(theirs, line+"/")) {
						return true
					}
				}
			}
			return false
		}
		tally := func(lines map[string]bool, manager string, c *count) {
			c.objects++
			for line := range lines {
				if !identity(line) {
					c.all++
					if shared(line, manager) {
						c.shared++
					}
				}
			}
		}
		for row, lines := range byRow {
			tally(lines, of[row], get(rows, row))
		}
		for manager, lines := range byManager {
			if q.Managers != nil && !slices.Contains(q.Managers, manager) {
				continue
			}
			if kindsOf[manager] == nil {
				kindsOf[manager] = map[string]bool{}
			}
			kindsOf[manager][kind.String()] = true
			tally(lines, manager, get(managers, manager))
			if slices.Contains(q.From, manager) {
				c := &count{}
				tally(lines, manager, c)
				for line := range lines {
					if !identity(line) && !shared(line, manager) {
						c.reported = append(c.reported, readable(line))
					}
				}
				slices.Sort(c.reported)
				out["leaving "+s.ref.String()+" "+manager] = fmt.Sprint(c.all, c.shared, c.reported)
			}
			if expected(q, manager) {
				continue
			}
			c := &count{}
			for line := range written[manager] {
				if identity(line) || line == "f:status" || strings.HasPrefix(line, "f:status/") {
					continue
				}
				c.all++
				if shared(line, manager) {
					c.shared++
				}
				c.reported = append(c.reported, readable(line))
			}
			if c.all > 0 {
				slices.Sort(c.reported)
				surprising[manager] = true
				out["unexpected "+s.ref.String()+" "+manager] = fmt.Sprint(c.all, c.shared, c.reported)
			}
		}
		for key := range stale {
			versions[key]++
		}
	}
	out["objects"], out["unmanaged"] = fmt.Sprint(len(cluster)), fmt.Sprint(unmanaged)
	for row, c := range rows {
		out[row] = fmt.Sprint(c.objects, c.all, c.shared)
	}
	for manager, c := range managers {
		out["manager "+manager] = fmt.Sprint(len(kindsOf[manager]), c.objects, c.all, c.shared, !surprising[manager])
	}
	for key, n := range versions {
		out[key] = fmt.Sprint(n)
	}
	return out
}

func expected(q owners.Question, manager string) bool {
	if q.Expected == nil {
		return true
	}
	for _, pattern := range q.Expected {
		if match, err := path.Match(pattern, manager); err == nil && match {
			return true
		}
	}
	return false
}

// linesOf returns the paths of an entry as the keys of its fieldsV1, joined by slashes.
func linesOf(f metav1.ManagedFieldsEntry) []string {
	var tree map[string]any
	if err := json.Unmarshal(f.FieldsV1.GetRawBytes(), &tree); err != nil {
		panic(err)
	}
	var lines []string
	var walk func(string, map[string]any)
	walk = func(above string, tree map[string]any) {
		for key, below := range tree {
			if key == "." {
				continue
			}
			line := strings.TrimPrefix(above+"/"+key, "/")
			deeper := below.(map[string]any)
			if _, self := deeper["."]; self || len(deeper) == 0 {
				lines = append(lines, line)
			}
			walk(line, deeper)
		}
	}
	walk("", tree)
	return lines
}

// readable converts a line to the plugin's notation. It only supports what randomTree generates.
func readable(line string) string {
	var b strings.Builder
	for key := range strings.SplitSeq(line, "/") {
		switch {
		case strings.HasPrefix(key, "f:"):
			b.WriteString("." + key[2:])
		case strings.HasPrefix(key, `k:{"name":"`):
			b.WriteString(`[name="` + strings.TrimSuffix(key[len(`k:{"name":"`):], `"}`) + `"]`)
		}
	}
	return b.String()
}

func identity(line string) bool {
	for _, own := range []string{"f:apiVersion", "f:kind", "f:metadata/f:name", "f:metadata/f:generation"} {
		if line == own || strings.HasPrefix(line, own+"/") {
			return true
		}
	}
	return line == "f:metadata"
}

func randomCluster(random *rand.Rand) []subject {
	kinds := []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "x.example", Version: "v2", Kind: "Gadget"},
	}
	var out []subject
	for i := range 1 + random.IntN(6) {
		s := subject{ref: object.Ref{GVK: kinds[random.IntN(len(kinds))], Namespace: "shop", Name: fmt.Sprint("o", i)}}
		for range random.IntN(5) {
			text, err := json.Marshal(randomTree(random, 0))
			if err != nil {
				panic(err)
			}
			raw := &metav1.FieldsV1{}
			raw.SetRawBytes(text)
			s.fields = append(s.fields, metav1.ManagedFieldsEntry{
				Manager: pick(random, "flux", "helm", "kubectl-edit", "kube-controller-manager"), Operation: metav1.ManagedFieldsOperationType(pick(random, "Apply", "Update")),
				Subresource: pick(random, "", "", "status", "scale"), APIVersion: pick(random, "v1", "apps/v1", "apps/v1beta1"), FieldsType: "FieldsV1", FieldsV1: raw,
			})
		}
		out = append(out, s)
	}
	return out
}

func randomTree(random *rand.Rand, depth int) map[string]any {
	names := [][]string{
		{"f:metadata", "f:spec", "f:status", "f:kind"},
		{"f:name", "f:labels", "f:replicas", "f:generation", `k:{"name":"a"}`, `k:{"name":"b"}`},
		{"f:a", "f:b", "f:image"},
		{"f:deep"},
	}
	tree := map[string]any{}
	if depth == len(names) {
		return tree
	}
	for range 1 + random.IntN(3) {
		below := map[string]any{}
		if depth == 0 || random.IntN(2) == 0 {
			below = randomTree(random, depth+1)
			if random.IntN(3) == 0 {
				below["."] = map[string]any{}
			}
		}
		tree[pick(random, names[depth]...)] = below
	}
	return tree
}

func randomQuestion(random *rand.Rand) owners.Question {
	var q owners.Question
	if random.IntN(2) == 0 {
		q.From = []string{"kubectl-edit", "helm"}
	}
	if random.IntN(2) == 0 {
		q.Expected = []string{"flux", "kube-*"}
	}
	if random.IntN(4) == 0 {
		q.Managers = []string{"flux", "kubectl-edit"}
	}
	if random.IntN(2) == 0 {
		q.Served = func(gvk schema.GroupVersionKind) bool { return gvk.Version == "v1" }
	}
	return q
}

func pick(random *rand.Rand, of ...string) string { return of[random.IntN(len(of))] }

// An unreadable object is reported, and not counted as read.
func TestUnreadableFields(t *testing.T) {
	c := owners.New(owners.Question{})
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "odd"}
	c.Add(ref, []metav1.ManagedFieldsEntry{{Manager: "x", Operation: "Apply", FieldsType: "FieldsV9"}})
	s := c.Result()
	if len(s.Unread) != 1 || s.Unread[0].Ref != ref || s.Objects != 0 {
		t.Errorf("got %+v", s)
	}
}

// The memory of a survey does not grow with the number of objects, unless the question asks for a
// list of them.
func TestCounterForgetsObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	cluster := randomCluster(random)
	c := owners.New(owners.Question{})
	rows := 0
	for i := range 100 {
		for _, s := range cluster {
			c.Add(s.ref, s.fields)
		}
		if s := c.Result(); i == 0 {
			rows = len(s.Holdings)
		} else if len(s.Holdings) != rows || len(s.Leaving)+len(s.Unexpected)+len(s.Unread) > 0 {
			t.Fatalf("after %d rounds: %d rows, %d at first", i, len(s.Holdings), rows)
		}
	}
}

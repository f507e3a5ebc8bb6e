package deprecation

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var update = flag.Bool("update", false, "write the chart's condition anew")

const chartsCondition = "../../charts/k8sconnect/files/deprecated-fields.cel"

// tree contains rules by path, to generate an expression.
type tree struct {
	below map[string]*tree // by the step of a path, which ends in [] for a list
	finds []string         // conditions on the value here; %[1]s is where it is
}

func (t *tree) at(path string) *tree {
	for step := range strings.SplitSeq(path, ".") {
		if t.below == nil {
			t.below = map[string]*tree{}
		}
		if t.below[step] == nil {
			t.below[step] = &tree{}
		}
		t = t.below[step]
	}
	return t
}

// expression returns a CEL expression that is true if one of the rules may apply to the optional
// value root. It ignores releases and the replacements of annotations, so it is sometimes true
// although no rule applies; the webhook checks these.
//
// The API server's time for a list grows with the square of its length, and 10,000 volumes would
// delay a write for seconds. So a list that is too long is not searched, and the expression is
// true.
func (t *tree) expression(root string, depth int) []string { return t.bounded(root, depth, "> %d ||") }

// certain is an expression that is false for a list that is too long.
func (t *tree) certain(root string) string {
	return strings.Join(t.bounded(root, 0, "<= %d &&"), " || ")
}

func (t *tree) bounded(root string, depth int, bound string) []string {
	var all []string
	for _, find := range t.finds {
		all = append(all, fmt.Sprintf(find, root))
	}
	for _, step := range slices.Sorted(maps.Keys(t.below)) {
		name, list := strings.CutSuffix(step, "[]")
		at := root + ".?" + name
		if !list {
			all = append(all, t.below[step].bounded(at, depth, bound)...)
			continue
		}
		item := fmt.Sprint("item", depth)
		inside := t.below[step].bounded(item, depth+1, bound)
		most := fmt.Sprintf(bound, [...]int{100, 10, 10}[depth])
		all = append(all, fmt.Sprintf("(size(%[1]s.orValue([])) %[2]s %[1]s.orValue([]).exists(%[3]s, %[4]s))", at, most, item, strings.Join(inside, " || ")))
	}
	return all
}

func quoted(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, "'"+text+"'")
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// treeOf returns the tree of rules. It combines keys of the same map.
func treeOf(rules []rule) *tree {
	t := &tree{}
	var labels []string
	for _, l := range nodeLabels() {
		labels = append(labels, l.name)
	}
	keys, prefixes := map[string][]string{}, map[string][]string{}
	for _, r := range rules {
		switch prefix, wild := strings.CutSuffix(r.key, "*"); {
		case wild:
			prefixes[r.path] = append(prefixes[r.path], prefix)
		case r.key != "":
			keys[r.path] = append(keys[r.path], r.key)
		case r.labels && strings.HasSuffix(r.path, "odeSelector"):
			keys[r.path] = labels
		case r.labels:
			at := t.at(r.path)
			at.finds = append(at.finds, "%[1]s.orValue('') in "+quoted(labels))
		case r.value != "":
			at := t.at(r.path)
			at.finds = append(at.finds, "%[1]s.orValue('') == '"+r.value+"'")
		case len(r.unless) > 0: // The API server fills in each from the other.
			at, other := t.at(r.path), r.unless[0]
			at.finds = append(at.finds, "%[1]s.hasValue() && !base.?"+strings.ReplaceAll(other, ".", ".?")+".hasValue()")
		default:
			at := t.at(r.path)
			at.finds = append(at.finds, "%[1]s.hasValue()")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(keys)) {
		at := t.at(path)
		at.finds = append(at.finds, quoted(keys[path])+".exists(key, key in %[1]s.orValue({}))")
	}
	for _, path := range slices.Sorted(maps.Keys(prefixes)) {
		at := t.at(path)
		for _, prefix := range prefixes[path] {
			at.finds = append(at.finds, "(size(%[1]s.orValue({})) > 100 || %[1]s.orValue({}).exists(key, key.startsWith('"+prefix+"')))")
		}
	}
	return t
}

// condition returns the chart's condition: whether a created object may have a deprecated field.
func condition() string {
	var b strings.Builder
	pod := treeOf(podRules()).expression("base", 0)
	fmt.Fprint(&b, "[kind == '/Pod' ? optional.of(object) : kind == '/PodTemplate' ? object.?template :\n"+
		" kind == 'batch/CronJob' ? object.?spec.?jobTemplate.?spec.?template : object.?spec.?template].exists(base,\n base.hasValue() && (\n ",
		strings.Join(pod, " ||\n "), "))")
	var kinds []schema.GroupKind
	for _, text := range chartsKinds() {
		group, name, _ := strings.Cut(text, "/")
		kinds = append(kinds, schema.GroupKind{Group: group, Kind: name})
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind) })
	for _, kind := range kinds {
		for _, set := range rulesFor(kind) {
			if strings.HasSuffix(set.base, "template") || kind.Kind == "Pod" {
				continue
			}
			root := "object"
			if set.base != "" {
				root += ".?" + strings.ReplaceAll(set.base, ".", ".?")
			}
			fmt.Fprintf(&b, " ||\nkind == '%s/%s' && (\n %s)", kind.Group, kind.Kind, strings.Join(treeOf(set.rules).expression(root, 0), " ||\n "))
		}
	}
	return "[request.requestKind.group + '/' + request.requestKind.kind].exists(kind,\nkind in " + quoted(chartsKinds()) + " && (\n" + b.String() + "))\n"
}

func chartsKinds() []string { return chartsList("deprecated-fields.yaml") }

// chartsList reads one of the chart's lists.
func chartsList(file string) []string {
	text, err := os.ReadFile("../../charts/k8sconnect/files/" + file)
	if err != nil {
		panic(err)
	}
	var kinds []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			kinds = append(kinds, strings.Trim(name, `"`))
		}
	}
	return kinds
}

func TestChartConditionIsGenerated(t *testing.T) {
	want := condition()
	if *update {
		if err := os.WriteFile(chartsCondition, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(chartsCondition)
	if err != nil || string(got) != want {
		t.Errorf("%v: the chart's condition is stale; go test ./pkg/deprecation -run TestChartConditionIsGenerated -update renews it", err)
	}
}

// asked returns a function that evaluates the chart's condition as an API server does, for an
// object without a type. The function also returns the cost of the evaluation.
func asked(t testing.TB) func(kind schema.GroupKind, object map[string]any) (asked bool, cost uint64) {
	t.Helper()
	text, err := os.ReadFile(chartsCondition)
	if err != nil {
		t.Fatal(err)
	}
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.HomogeneousAggregateLiterals(), ext.Strings(), cel.Variable("object", cel.DynType), cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Compile(string(text))
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(parsed, cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		t.Fatal(err)
	}
	return func(kind schema.GroupKind, object map[string]any) (bool, uint64) {
		t.Helper()
		out, details, err := program.Eval(map[string]any{"object": object, "request": map[string]any{
			"requestKind": map[string]any{"group": kind.Group, "kind": kind.Kind},
		}})
		if err != nil {
			t.Fatalf("%s: %v: %v", kind, err, object)
		}
		return out.Value() == true, *details.ActualCost()
	}
}

// with returns an object with a value at a path, in the second of three items of each list.
func with(path string, value any) any {
	if path == "" {
		return value
	}
	step, rest, _ := strings.Cut(path, ".")
	name, list := strings.CutSuffix(step, "[]")
	if !list {
		return map[string]any{name: with(rest, value)}
	}
	other := map[string]any{"name": "other"}
	return map[string]any{name: []any{other, with(rest, value), other}}
}

// values returns a value that a rule calls deprecated, and a value that it does not.
func values(r rule) (deprecated, fine any) {
	switch {
	case r.labels && strings.HasSuffix(r.path, "odeSelector"):
		return map[string]any{"beta.kubernetes.io/os": "linux"}, map[string]any{"kubernetes.io/os": "linux"}
	case r.labels:
		return "node-role.kubernetes.io/master", "kubernetes.io/hostname"
	case r.key != "":
		return map[string]any{strings.Replace(r.key, "*", "app", 1): "x"}, map[string]any{"example.com/" + strings.TrimSuffix(r.key, "*"): "x"}
	case r.value != "":
		return r.value, "Another"
	}
	return "set", nil
}

// The API server calls the webhook for a create exactly if a rule finds something, so that a create
// without a deprecated field costs no call, and no such field is missed.
func TestConditionMatchesRules(t *testing.T) {
	costs, rules := asked(t), 0
	ask := func(kind schema.GroupKind, object map[string]any) bool {
		yes, _ := costs(kind, object)
		return yes
	}
	for _, text := range chartsKinds() {
		group, name, _ := strings.Cut(text, "/")
		kind := schema.GroupKind{Group: group, Kind: name}
		if ask(kind, map[string]any{}) || ask(kind, map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"replicas": int64(1)}}) {
			t.Errorf("%s: the webhook is called for an object without deprecated fields", text)
		}
		for _, set := range rulesFor(kind) {
			for _, r := range set.rules {
				rules++
				path := strings.Trim(set.base+"."+r.path, ".")
				deprecated, fine := values(r)
				u := &unstructured.Unstructured{Object: with(path, deprecated).(map[string]any)}
				u.SetGroupVersionKind(kind.WithVersion("v1"))
				if len(Fields(u, v1(99))) != 1 {
					t.Fatalf("%s: want exactly one deprecated field in %v", path, u.Object)
				}
				if !ask(kind, u.Object) {
					t.Errorf("%s, %s: the webhook is not called for %v", text, path, u.Object)
				}
				if fine != nil && ask(kind, with(path, fine).(map[string]any)) {
					t.Errorf("%s, %s: the webhook is called for %v", text, path, fine)
				}
				if another := (schema.GroupKind{Group: "example.com", Kind: name}); ask(another, map[string]any{"spec": map[string]any{"loadBalancerIP": "x"}}) {
					t.Errorf("the webhook is called for the kind %s of another group", name)
				}
			}
		}
	}
	if rules < 300 {
		t.Errorf("%d rules were tried", rules)
	}
	pod := map[string]any{"spec": map[string]any{"serviceAccount": "a", "serviceAccountName": "a"}}
	if ask(schema.GroupKind{Kind: "Pod"}, pod) {
		t.Error("the webhook is called for a field that the API server filled in")
	}
}

// A write waits until the condition is evaluated, and the time for this grows with the square of a
// list's length. So a list or map that is too long leads to a call.
func TestConditionIsBounded(t *testing.T) {
	ask := asked(t)
	items, keys := make([]any, 10_000), map[string]any{}
	for i := range items {
		items[i], keys[fmt.Sprint("key-", i)] = map[string]any{"name": fmt.Sprint("item-", i)}, "x"
	}
	for _, text := range chartsKinds() {
		group, name, _ := strings.Cut(text, "/")
		kind := schema.GroupKind{Group: group, Kind: name}
		for _, set := range rulesFor(kind) {
			for _, r := range set.rules {
				path, long := strings.Trim(set.base+"."+r.path, "."), any(items)
				switch before, _, list := strings.Cut(path, "[]"); {
				case list:
					path = before
				case r.key != "":
					long = keys
				default:
					continue
				}
				object := with(path, long).(map[string]any)
				yes, cost := ask(kind, object)
				if prefix := strings.HasSuffix(r.key, "*"); !yes && (r.key == "" || prefix) || cost > 5_000 {
					t.Errorf("%s, %s: called %t, at a cost of %d", text, path, yes, cost)
				}
			}
		}
	}
}

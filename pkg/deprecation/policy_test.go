package deprecation

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The chart's policy of mode "policy" cannot call a program, so the chart contains the texts of all
// deprecations, one for each release from which they change, and renders those of the cluster's
// release.
const chartsPolicy = "../../charts/k8sconnect/files/deprecation-policy.yaml"

type policyFile struct {
	// Versions is keyed by group/version/Kind.
	Versions map[string][]releaseText `json:"versions"`
	// Labels are texts about labels of nodes, which follow the path and the name.
	Labels map[string]string `json:"labels"`
	Fields []policyFields    `json:"fields"`
}

// releaseText is the text for servers of release 1.from or newer; empty for none.
type releaseText struct {
	From int    `json:"from"`
	Text string `json:"text,omitempty"`
}

// policyFields are rules for kinds, as group/Kind: for their Pod templates, or for themselves.
type policyFields struct {
	Kinds  []string      `json:"kinds"`
	Pods   bool          `json:"pods,omitempty"`
	Rules  []policyRule  `json:"rules,omitempty"`
	Labels []policyLabel `json:"labels,omitempty"`
}

type policyRule struct {
	When  string        `json:"when"`
	Texts []releaseText `json:"texts"`
}

// policyLabel is a path that may contain the label l, with the text before and after it.
type policyLabel struct {
	When   string `json:"when"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// textsOf returns the texts for all releases from the chart's oldest to the table's newest.
func textsOf(text func(server Release) string) []releaseText {
	_, newest, _ := strings.Cut(table, "# Newest: k8s.io/api v0.")
	var texts []releaseText
	for minor := 30; minor <= number(digits(newest)); minor++ {
		now := releaseText{minor, text(v1(minor))}
		if last := len(texts) - 1; last < 0 && now.Text != "" || last >= 0 && texts[last].Text != now.Text {
			texts = append(texts, now)
		}
	}
	return texts
}

// found returns a rule as an expression, and the webhook's text about it, without the numbers of
// list items.
func found(root string, r rule) policyRule {
	rules := treeOf([]rule{r})
	if prefix, wild := strings.CutSuffix(r.key, "*"); wild {
		rules.at(r.path).finds = []string{"(size(%[1]s.orValue({})) <= 100 && %[1]s.orValue({}).exists(key, key.startsWith('" + prefix + "')))"}
	}
	when := rules.certain(root)
	if r.key != "" {
		for _, path := range r.unless {
			when += " && !(" + strings.Join(treeOf([]rule{{path: path}}).expression(root, 0), " || ") + ")"
		}
	}
	return policyRule{strings.ReplaceAll(when, "base.?", root+".?"), textsOf(func(server Release) string {
		if !r.since.IsZero() && !server.reached(r.since) {
			return ""
		}
		n := FieldNotice{Path: "." + strings.ReplaceAll(r.path, "[]", "[*]"), Value: r.value, Since: r.since, Use: r.use}
		if r.key != "" {
			n.Path += "[" + strconv.Quote(r.key) + "]"
		}
		if server.reached(r.gone) {
			n.Gone = r.gone
		}
		return n.String()
	})}
}

func fieldsOf(root string, rules []rule) policyFields {
	var fields policyFields
	for _, r := range rules {
		if !r.labels {
			fields.Rules = append(fields.Rules, found(root, r))
			continue
		}
		path := "." + strings.ReplaceAll(r.path, "[]", "[*]")
		t, l := &tree{}, policyLabel{Before: path + ": ", After: " "}
		t.at(r.path).finds = []string{"%s.orValue('') == l"}
		if strings.HasSuffix(r.path, "odeSelector") {
			l = policyLabel{Before: path + `["`, After: `"] `}
			t.at(r.path).finds = []string{"l in %s.orValue({})"}
		}
		l.When = t.certain(root)
		fields.Labels = append(fields.Labels, l)
	}
	return fields
}

func policy() policyFile {
	file := policyFile{Versions: map[string][]releaseText{}, Labels: map[string]string{}}
	for _, name := range chartsList("deprecated.yaml") {
		gvk := parseGVK(name)
		file.Versions[name] = textsOf(func(server Release) string {
			notice, ok := Check(gvk, server)
			if !ok {
				return ""
			}
			return notice.String()
		})
	}
	for _, l := range nodeLabels() {
		file.Labels[l.name] = FieldNotice{Since: l.since, Use: l.use}.String()
	}
	pods := fieldsOf("variables.pod", podRules())
	pods.Pods = true
	for _, name := range chartsList("deprecated-fields.yaml") {
		group, kind, _ := strings.Cut(name, "/")
		for _, set := range rulesFor(schema.GroupKind{Group: group, Kind: kind}) {
			if kind == "Pod" || strings.HasSuffix(set.base, "template") {
				pods.Kinds = append(pods.Kinds, name)
				continue
			}
			rules := slices.Clone(set.rules)
			if set.base != "" {
				for i := range rules {
					rules[i].path = set.base + "." + rules[i].path
				}
			}
			own := fieldsOf("object", rules)
			own.Kinds = []string{name}
			file.Fields = append(file.Fields, own)
		}
	}
	file.Fields = append(file.Fields, pods)
	return file
}

func TestChartPolicyIsGenerated(t *testing.T) {
	content, err := yaml.Marshal(policy())
	if err != nil {
		t.Fatal(err)
	}
	want := "# Written from the table and the rules by make generate; do not edit.\n" + string(content)
	if *update {
		if err := os.WriteFile(chartsPolicy, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(chartsPolicy)
	if err != nil || string(got) != want {
		t.Errorf("%v: the chart's policy is stale; make generate renews it", err)
	}
}

// The policy warns about the same fields as the webhook, in the same words.
func TestPolicyMatchesRules(t *testing.T) {
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("object", cel.DynType), cel.Variable("variables", cel.DynType), cel.Variable("l", cel.StringType))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]cel.Program{}
	is := func(when string, values map[string]any) bool {
		if programs[when] == nil {
			parsed, issues := env.Compile(when)
			if issues.Err() != nil {
				t.Fatal(when, issues.Err())
			}
			if programs[when], err = env.Program(parsed); err != nil {
				t.Fatal(err)
			}
		}
		out, _, err := programs[when].Eval(values)
		if err != nil {
			t.Fatal(when, err)
		}
		return out.Value() == true
	}
	file, newest := policy(), v1(99)
	says := func(name, base string, object map[string]any) []string {
		pod, _, _ := descend(object, base, nil)
		values := map[string]any{"object": object, "variables": map[string]any{"pod": pod}}
		var texts []string
		for _, fields := range file.Fields {
			prefix := ""
			if fields.Pods && base != "" {
				prefix = "." + base
			}
			if !slices.Contains(fields.Kinds, name) {
				continue
			}
			for _, r := range fields.Rules {
				if is(r.When, values) {
					texts = append(texts, prefix+r.Texts[len(r.Texts)-1].Text)
				}
			}
			for _, label := range fields.Labels {
				for l, text := range file.Labels {
					if values["l"] = l; is(label.When, values) {
						texts = append(texts, prefix+label.Before+l+label.After+text)
					}
				}
			}
		}
		return texts
	}
	for _, name := range chartsKinds() {
		group, kind, _ := strings.Cut(name, "/")
		gk := schema.GroupKind{Group: group, Kind: kind}
		base := rulesFor(gk)[0].base
		for _, set := range rulesFor(gk) {
			for _, r := range set.rules {
				path := strings.Trim(set.base+"."+r.path, ".")
				deprecated, fine := values(r)
				u := &unstructured.Unstructured{Object: with(path, deprecated).(map[string]any)}
				u.SetGroupVersionKind(gk.WithVersion("v1"))
				notice := Fields(u, newest)[0]
				path, notice.Path = notice.Path, "."
				// This is the text without the parts that shorten a long path.
				want := strings.NewReplacer("[1]", "[*]", strings.Replace(r.key, "*", "app", 1)+`"]`, r.key+`"]`).Replace(path) + notice.String()[1:]
				if got := says(name, base, u.Object); len(got) != 1 || got[0] != want {
					t.Errorf("%s, %s: %q, want %q", name, path, got, want)
				}
				path = strings.Trim(set.base+"."+r.path, ".")
				if got := says(name, base, with(path, fine).(map[string]any)); fine != nil && len(got) > 0 {
					t.Errorf("%s, %s: got %q for a value that is not deprecated", name, path, got)
				}
			}
		}
	}
}

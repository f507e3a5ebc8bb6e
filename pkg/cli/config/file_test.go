package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// whole is a file with every key.
const whole = `
yield:
- {manager: kube-controller-manager}
- kind: ValidatingWebhookConfiguration
  path: .webhooks[*].clientConfig.caBundle
take:
- {kind: Deployment.apps, namespace: shop, name: web-*, path: [.spec.replicas, .spec.paused], manager: kubectl-*}
adoptFrom: [helm]
recreate: [job/migrate]
fieldManager: team-shop
others: refuse
readiness: ready.yaml
timeoutFor: {namespace: 30m, "job:condition=Complete": 20m}
expect: {context: "*shop*", cluster: 6f2a}
contexts:
  "prod-*":
    fieldManager: team-shop-prod
    others: warn
    expect: {cluster: 77aa}
  "dev-*":
    yield: [{path: .spec}]
`

// reported describes settings as lines of text, for comparison.
func reported(s *Settings) []string {
	var out []string
	for _, c := range s.Rules.Yield {
		out = append(out, c.From+" yield "+c.String())
	}
	for _, c := range s.Rules.Take {
		out = append(out, c.From+" take "+c.String())
	}
	out = append(out, fmt.Sprint(s.AdoptFrom, s.Recreate, " ", s.FieldManager, " ", s.Readiness, " ", s.TimeoutFor, " ", s.Others), fmt.Sprint(s.Contexts, s.ExpectContext, s.ExpectCluster))
	return out
}

func TestParse(t *testing.T) {
	s, err := Parse("app/k8sconnect.yaml", []byte(whole), "prod-1", true)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"app/k8sconnect.yaml:3:3 yield manager=kube-controller-manager",
		"app/k8sconnect.yaml:4:3 yield validatingwebhookconfiguration:manager=*:.webhooks[*].clientConfig.caBundle",
		"app/k8sconnect.yaml:7:3 take deployment.apps/shop/web-*:manager=kubectl-*:.spec.replicas",
		"app/k8sconnect.yaml:7:3 take deployment.apps/shop/web-*:manager=kubectl-*:.spec.paused",
		"[helm] [job/migrate] team-shop-prod app/ready.yaml [namespace=30m job:condition=Complete=20m] warn",
		"[prod-*] [{*shop* app/k8sconnect.yaml:14:10: expect.context}] [{6f2a app/k8sconnect.yaml:14:29: expect.cluster} {77aa app/k8sconnect.yaml:19:14: expect.cluster}]",
	}
	if diff := cmp.Diff(want, reported(s)); diff != "" {
		t.Error(diff)
	}
	if s, err = Parse("f", []byte(whole), "staging", true); err != nil || s.FieldManager != "team-shop" || s.Others != "refuse" || len(s.Contexts) > 0 || len(s.ExpectCluster) != 1 || len(s.Rules.Yield) != 2 {
		t.Errorf("in a context without a section: %v, %v", reported(s), err)
	}
}

// All faults are reported at once with file, line, column and suggestions. This includes faults in
// sections for other contexts.
func TestParseFaults(t *testing.T) {
	for text, want := range map[string][]string{
		"":                {"f: the file sets nothing | remove it, or ignore it with --config="},
		"# a comment\n":   {"f: the file sets nothing | remove it, or ignore it with --config="},
		"- yield":         {"f:1:1: the file must be a mapping"},
		"yield: [":        {"f:1: not YAML: did not find expected node content"},
		"a: 1\n---\nb: 2": {"f:2:1: a second document: the file must contain only one", `f:1:1: unknown key "a" | the keys are yield, take, adoptFrom, exclusive, recreate, fieldManager, readiness, timeoutFor, others, expect, contexts`},
		"yeild: []":       {`f:1:1: unknown key "yeild" | did you mean yield?`},
		"fieldmanager: x": {`f:1:1: unknown key "fieldmanager" | did you mean fieldManager?`},
		"yield:":          {"f:1:1: yield has no value | to leave it unset, remove the key"},
		"yield: .spec":    {"f:1:8: yield must be a list"},
		"yield: [.spec]":  {"f:1:9: a rule must be a mapping"},
		"yield: [{}]":     {`f:1:9: a rule needs a path or a manager | to select everything that others own, write manager: "*"`},
		"yield:\n- kind: A\n  paht: .spec": {
			`f:3:3: unknown key "paht" | did you mean path?`,
			`f:2:3: a rule needs a path or a manager | to select everything that others own, write manager: "*"`,
		},
		"yield: [{path: .spec[}]":                  {"f:1: not YAML: did not find expected ',' or '}'"},
		"take: [{path: '.a['}]":                    {`f:1:15: path ".a[", column 4: expected a field name`},
		"take: [{path: '.a[0]'}]":                  {`f:1:15: .a[0]: list items are identified by key, not by position | such as .spec.template.spec.containers[name="app"].image, or [*] for all items`},
		"take: [{path: []}]":                       {"f:1:15: path is empty"},
		"take: [{manager: '[', path: .a}]":         {"f:1:18: [ is not a pattern: it has an unclosed or empty bracket, or ends with a backslash"},
		"others: deny":                             {`f:1:9: others must be warn or refuse, not "deny"`},
		"fieldManager: 1":                          {"f:1:15: fieldManager must be a string, not 1 | put it in quotes"},
		"fieldManager: ''":                         {"f:1:15: fieldManager is empty | to leave it unset, remove the key"},
		"fieldManager: \"a\\u0007b\"":              {`f:1:15: fieldManager is "a\ab", but the server accepts only printable characters`},
		"take: []\ntake: []":                       {"f:2:1: take is set twice"},
		"recreate: [job=a]":                        {`f:1:12: "job=a": not KIND[/NAME] (example: job/migrate)`},
		"timeoutFor: {job: soon}":                  {`f:1:14: must be KIND, CONDITION or KIND:CONDITION with a time, not job: soon | such as namespace: 30m, create: 1m or "job:condition=Complete": 20m`},
		"timeoutFor: {job: 0s}":                    {"f:1:19: the time for job must be more than 0"},
		"expect: {contxt: a}":                      {`f:1:10: unknown key "contxt" | did you mean context?`},
		"contexts: {'[': {take: []}}":              {`f:1:12: "[" is not a pattern: it is empty, has an unclosed or empty bracket, or ends with a backslash`},
		"contexts: {other: {contexts: {}}}":        {`f:1:20: unknown key "contexts" | the keys are yield, take, adoptFrom, exclusive, recreate, fieldManager, readiness, timeoutFor, others, expect`},
		"contexts: {other: {take: [{path: '.'}]}}": {`f:1:34: path ".", column 1: the path is empty`},
	} {
		_, err := Parse("f", []byte(text), "prod", true)
		var got []string
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				var fault *Error
				if !errors.As(e, &fault) {
					t.Fatalf("%v is not an *Error", e)
				}
				got = append(got, strings.TrimSuffix(fault.Error()+" | "+fault.Advice, " | "))
				// The help of a verb does not describe the file's content; a page of the
				// documentation does.
				if fault.Advice == "" && !strings.HasSuffix(fault.Hint(), "/docs/config.md") {
					t.Errorf("%q: hint %q", text, fault.Hint())
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// A file that was found, not named, may restrict a run and refuse it. It may not extend the fields
// that are taken, deleted or read.
func TestDiscoveredFileMayNotWidenRules(t *testing.T) {
	for key, text := range map[string]string{
		"take": "take: [{path: .spec}]", "adoptFrom": "adoptFrom: [helm]", "recreate": "recreate: [job]", "fieldManager": "fieldManager: argocd-controller",
		"readiness": "readiness: ../../.ssh/id_rsa", "an absolute readiness": "readiness: /etc/passwd",
		"take, in a section": "contexts: {'*': {take: [{path: .spec}]}}",
	} {
		if _, err := Parse("f", []byte(text), "c", true); err != nil {
			t.Errorf("%s in a named file: %v", key, err)
		}
		s, err := Parse("f", []byte(text), "c", false)
		if err == nil || !strings.Contains(err.Error(), "found next to the input") {
			t.Errorf("%s in a discovered file: %v", key, err)
		}
		if diff := cmp.Diff(reported(&Settings{Contexts: s.Contexts}), reported(s)); diff != "" {
			t.Errorf("%s in a discovered file: %s", key, diff)
		}
	}
	if _, err := Parse("f", []byte("yield: [{path: .spec}]\nreadiness: sub/r.yaml\ntimeoutFor: {job: 1m}\nexpect: {context: a}"), "c", false); err != nil {
		t.Errorf("settings that only restrict a run: %v", err)
	}
}

// A rule that is added to a file yields the path of exactly this object, and everything else in the
// file stays.
func TestYieldAddsRule(t *testing.T) {
	deployment := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "web"}
	role := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "shop", Name: `a*[b]?\c`}
	for _, tt := range []struct {
		data, want string
		ref        object.Ref
		paths      []string
	}{
		{"", "yield:\n- {kind: Deployment.apps, name: web, path: .spec.replicas}\n", deployment, []string{".spec.replicas"}},
		{
			"yield:\n- {manager: x} # theirs\nothers: refuse\n",
			"yield:\n- {manager: x} # theirs\n- {kind: ConfigMap, namespace: shop, name: 'a\\*\\[b]\\?\\\\c', path: [.data.a, '.data[\"b  c\"]']}\nothers: refuse\n",
			role,
			[]string{".data.a", `.data["b  c"]`},
		},
	} {
		got, line, written, err := Yield("k8sconnect.yaml", []byte(tt.data), tt.ref, tt.paths)
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
		if at := strings.Split(string(got), "\n")[line-1]; at != "- "+written {
			t.Errorf("line %d is %s, not %s", line, at, written)
		}
		settings, err := Parse("k8sconnect.yaml", got, "", false)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, c := range settings.Rules.Yield {
			if c.Names(tt.ref, object.Kind{GVK: tt.ref.GVK}) && c.Kind != "" {
				paths = append(paths, c.Path.String())
			}
		}
		if diff := cmp.Diff(tt.paths, paths); diff != "" {
			t.Errorf("%s\n%s", diff, got)
		}
		other := tt.ref
		other.Name = "axbxc"
		if c := settings.Rules.Yield[len(settings.Rules.Yield)-1]; c.Names(other, object.Kind{GVK: other.GVK}) {
			t.Errorf("the rule matches %s:\n%s", other, got)
		}
	}
}

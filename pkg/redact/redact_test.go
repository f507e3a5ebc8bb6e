package redact_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func ref(apiVersion, kind string) object.Ref {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	return object.RefOf(u)
}

var secretRef = ref("v1", "Secret")

// Edge case 41: in a comparison, the values of Secrets are masked on both sides.
func TestPair(t *testing.T) {
	tests := map[string]struct{ before, after, wantBefore, wantAfter string }{
		"equal and different": {
			`{data: {a: eA==, b: eA==}}`, `{data: {a: eA==, b: eQ==}}`,
			`{data: {a: "***", b: "*** (before)"}}`, `{data: {a: "***", b: "*** (after)"}}`,
		},
		"added and removed": {
			`{data: {a: eA==}}`, `{stringData: {b: x}}`,
			`{data: {a: "***"}}`, `{stringData: {b: "***"}}`,
		},
		"created": {`null`, `{data: {a: eA==}}`, `null`, `{data: {a: "***"}}`},
		"deleted": {
			`{data: {a: eA==}}`, `null`, `{data: {a: "***"}}`, `null`,
		},
		"the rest stays": {
			`{kind: Secret, type: Opaque, metadata: {name: a, annotations: {x: y2}}}`, `{kind: Secret, type: Opaque, metadata: {name: a}}`,
			`{kind: Secret, type: Opaque, metadata: {name: a, annotations: {x: y2}}}`, `{kind: Secret, type: Opaque, metadata: {name: a}}`,
		},
		"last-applied annotation": {
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"eA=="}}', x: x}}}`,
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"eQ=="}}', x: x}}}`,
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '*** (before)', x: x}}}`,
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '*** (after)', x: x}}}`,
		},
		"null and empty are not secret (edge case 16)": {
			`{data: {a: null}, stringData: {}}`, `{data: null}`, `{data: {a: null}, stringData: {}}`, `{data: null}`,
		},
		"a value that is not a string": {
			`{data: text, stringData: {a: {b: c}}}`, `{data: {a: text}, stringData: [secret]}`,
			`{data: "*** (before)", stringData: {a: "***"}}`, `{data: {a: "***"}, stringData: "*** (after)"}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := read(t, tt.before), read(t, tt.after)
			gotBefore, gotAfter := redact.Pair(secretRef, before, after)
			if diff := cmp.Diff(read(t, tt.wantBefore), gotBefore); diff != "" {
				t.Errorf("before (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(read(t, tt.wantAfter), gotAfter); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			if !cmp.Equal(before, read(t, tt.before)) || !cmp.Equal(after, read(t, tt.after)) {
				t.Error("an argument was changed")
			}
		})
	}
}

func TestOnlySecrets(t *testing.T) {
	object := map[string]any{"data": map[string]any{"a": "x"}}
	for kind, r := range map[string]judged{
		"ConfigMap":                {ref("v1", "ConfigMap"), false},
		"Secret of another group":  {ref("example.com/v1", "Secret"), false},
		"Secret of any version":    {ref("v2", "Secret"), true},
		"SecretList is not Secret": {ref("v1", "SecretList"), false},
	} {
		got, _ := redact.Pair(r.Ref, object, nil)
		if masked := !cmp.Equal(got, object); masked != r.secret {
			t.Errorf("%s: masked %v, want %v", kind, masked, r.secret)
		}
	}
}

// judged is a kind, and the expectation whether its values are secret.
type judged struct {
	object.Ref
	secret bool
}

func TestChangesAndConflicts(t *testing.T) {
	p := func(names ...string) fieldpath.Path { return fieldpath.Field(names...) }
	changes := []managedfields.Change{
		{Path: p("data", "a"), From: "eA==", To: "eQ==", Kind: managedfields.Changed},
		{Path: p("stringData", "b"), To: "new", Kind: managedfields.Added},
		{Path: p("data"), From: map[string]any{"k": "eA=="}, Kind: managedfields.Removed},
		{Path: p("metadata", "annotations", managedfields.LastAppliedAnnotation), From: "{}", Kind: managedfields.Removed},
		{Path: p("type"), From: "a", To: "b", Kind: managedfields.Changed},
	}
	want := [][]any{
		{"*** (before)", "*** (after)"},
		{nil, "***"},
		{map[string]any{"k": "***"}, nil},
		{"***", nil},
		{"a", "b"},
	}
	for i, c := range redact.Changes(secretRef, changes) {
		if diff := cmp.Diff(want[i], []any{c.From, c.To}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Path, diff)
		}
	}
	if changes[0].From != "eA==" {
		t.Error("the argument was changed")
	}
	conflicts := []managedfields.Conflict{
		{Path: p("data", "a"), Yours: "eA==", Live: "eQ==", HasLive: true},
		{Path: p("data", "b"), Yours: "eA=="},
		{Path: p("metadata", "labels", "x"), Yours: "a", Live: "b", HasLive: true},
	}
	want = [][]any{{"*** (yours)", "*** (live)"}, {"***", nil}, {"a", "b"}}
	for i, c := range redact.Conflicts(secretRef, conflicts) {
		if diff := cmp.Diff(want[i], []any{c.Yours, c.Live}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Path, diff)
		}
	}
	if got := redact.Conflicts(ref("v1", "ConfigMap"), conflicts); got[0].Yours != "eA==" {
		t.Error("a ConfigMap was masked")
	}
}

func secret(t *testing.T, rest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: read(t, rest)}
	u.SetAPIVersion("v1")
	u.SetKind("Secret")
	u.SetName("db")
	return u
}

func TestObject(t *testing.T) {
	u := secret(t, `{data: {a: eA==}, type: Opaque}`)
	got := redact.Object(u)
	if v, _, _ := unstructured.NestedString(got.Object, "data", "a"); v != "***" || got.GetName() != "db" {
		t.Errorf("got %v", got.Object)
	}
	if v, _, _ := unstructured.NestedString(u.Object, "data", "a"); v != "eA==" {
		t.Error("the argument was changed")
	}
	if redact.Object(nil) != nil {
		t.Error("nil became an object")
	}
}

func TestText(t *testing.T) {
	u := secret(t, `
data: {token: aHVudGVyMg==, broken: "not base64!", cert: LS0tLS1CRUdJTi0tLS0tCnNlY3JldCBsaW5lIG9uZQo=}
stringData: {password: "tr0ub\"dor", number: 54321, flag: "on", short: x, blank: " "}
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"older one"}}'
`)
	tests := map[string]struct{ text, want string }{
		"nothing in it":       {"Secret \"db\" is invalid", "Secret \"db\" is invalid"},
		"value as written":    {`value "not base64!" is wrong`, `value "***" is wrong`},
		"decoded":             {`token hunter2 was refused`, `token *** was refused`},
		"in base64":           {`token aHVudGVyMg== was refused`, `token *** was refused`},
		"plain value encoded": {`password dHIwdWIiZG9y`, `password ***`},
		"quoted":              {`password "tr0ub\"dor"`, `password "***"`},
		"not text":            {`cannot use 54321 as a string`, `cannot use *** as a string`},
		"one line of many":    {`near "secret line one"`, `near "***"`},
		"from the annotation": {`was older one`, `was ***`},
		"short, as a word":    {`x=x, "x" but not xx nor ax`, `***=***, "***" but not xx nor ax`},
		"short, at the ends":  {`on`, `***`},
		"repeated value":      {`hunter2hunter2`, `******`},
		"blanks stay":         {`a b`, `a b`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := redact.Text(u, tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	other := u.DeepCopy()
	other.SetKind("ConfigMap")
	if got := redact.Text(other, "hunter2"); got != "hunter2" {
		t.Errorf("got %q for a ConfigMap, want it unchanged", got)
	}
	if got := redact.Text(nil, "hunter2"); got != "hunter2" {
		t.Errorf("got %q without an object, want it unchanged", got)
	}
}

func TestError(t *testing.T) {
	u := secret(t, `{stringData: {password: hunter2}}`)
	leak := fmt.Errorf("hunter2: %w", apierrors.NewBadRequest("hunter2"))
	got := redact.Error(u, leak)
	if got.Error() != "***: ***" {
		t.Errorf("got %q", got)
	}
	if !apierrors.IsBadRequest(got) || !errors.Is(got, leak) {
		t.Error("the masked error does not match the original with errors.Is")
	}
	if got := redact.Error(u, io.EOF); !errors.Is(got, io.EOF) || got.Error() != io.EOF.Error() {
		t.Errorf("an error without secrets became %v", got)
	}
	if redact.Error(u, nil) != nil {
		t.Error("nil became an error")
	}
}

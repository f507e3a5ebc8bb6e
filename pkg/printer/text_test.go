package printer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestLines(t *testing.T) {
	got := lines("\n one\r\n\ttwo  \n\nthree\x1b\n\n")
	want := []string{"one", "    two", "", `three\x1b`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Edge case 16: null, absent and empty are three things.
func TestValue(t *testing.T) {
	tests := map[string]struct {
		in   any
		want string
	}{
		"text":                {"app:1.2", "app:1.2"},
		"empty":               {"", `""`},
		"null":                {nil, "null"},
		"the word null":       {"null", `"null"`},
		"number":              {int64(3), "3"},
		"float":               {0.5, "0.5"},
		"digits in a string":  {"3", `"3"`},
		"bool":                {true, "true"},
		"blanks around":       {" x ", `" x "`},
		"like a missing one":  {"(none)", `"(none)"`},
		"quotes":              {`"x"`, `"\"x\""`},
		"map":                 {map[string]any{"b": []any{int64(1), "<&>"}, "a": nil}, `{"a":null,"b":[1,"<&>"]}`},
		"lines":               {"one\ntwo\nthree\n", "one… (+2 lines)"},
		"a line and its end":  {"one\n", `"one\n"`},
		"escape sequence":     {"\x1b[1m", `"\x1b[1m"`},
		"escape in a map":     {map[string]any{"a": "\u009b"}, `{"a":"\u009b"}`},
		"escape in a line":    {"\x1b[1m\nx", `\x1b[1m… (+1 line)`},
		"what JSON can't say": {complex(1, 2), "(1+2i)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := value(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	tests := map[string]struct {
		yours, live any
		absent      bool
		want        [2]string
	}{
		"absent":                {yours: "a", absent: true, want: [2]string{"a", "(none)"}},
		"null":                  {yours: "a", want: [2]string{"a", "null"}},
		"different line":        {yours: "a\nb\nc", live: "a\nx\nc", want: [2]string{"line 2: b", "line 2: x"}},
		"one has more lines":    {yours: "a\nb", live: "a\nb\nc", want: [2]string{"(2 lines)", "line 3: c"}},
		"only one has any":      {yours: "a\nb", live: "a", want: [2]string{"a… (+1 line)", "a"}},
		"a number for a string": {yours: int64(3), live: "3", want: [2]string{"3", `"3"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			yours, live := values(tt.yours, tt.live, !tt.absent)
			if got := [2]string{yours, live}; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Two values that differ look different, however little room there is.
func TestCutPair(t *testing.T) {
	long := strings.Repeat("x", 40)
	tests := map[string][2]string{
		"at the end":       {long + "a", long + "b"},
		"at the start":     {"a" + long, "b" + long},
		"in the middle":    {long + "a" + long, long + "b" + long},
		"one more":         {long, long + long},
		"wide characters":  {strings.Repeat("日", 40) + "a" + long, strings.Repeat("日", 40) + "b" + long},
		"near the start":   {"xxa" + long, "xxb" + long},
		"after the middle": {long + "xxxxxxa" + long, long + "xxxxxxb" + long},
	}
	for name, pair := range tests {
		t.Run(name, func(t *testing.T) {
			for width := 10; width < 60; width++ {
				a, b := cutPair(pair[0], pair[1], width, width)
				if a == b {
					t.Errorf("at %d columns both are %s", width, a)
				}
				if cells(a) > width || cells(b) > width {
					t.Errorf("at %d columns: %s is %d, %s is %d wide", width, a, cells(a), b, cells(b))
				}
			}
		})
	}
}

func TestOwner(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		owner managedfields.Owner
		want  string
	}{
		"no time, subresource (edge case 8)": {
			managedfields.Owner{Manager: "kube-controller-manager", Operation: "Update", Subresource: "scale"},
			"kube-controller-manager (scale)",
		},
		"update":            {managedfields.Owner{Manager: "kubectl-edit", Operation: "Update", Time: now.Add(-time.Hour)}, "kubectl-edit (Update, 1h ago)"},
		"apply":             {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(-72 * time.Hour)}, "flux (Apply, 3d ago)"},
		"apply to a part":   {managedfields.Owner{Manager: "flux", Operation: "Apply", Subresource: "status"}, "flux (Apply, status)"},
		"a clock is ahead":  {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(time.Hour)}, "flux (Apply, 0s ago)"},
		"nothing but name":  {managedfields.Owner{Manager: "x"}, "x"},
		"not even a name":   {managedfields.Owner{Operation: "Update"}, `"" (Update)`},
		"name with escapes": {managedfields.Owner{Manager: "\x1b[1mx"}, `\x1b[1mx`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := owner(tt.owner, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFileName(t *testing.T) {
	long := strings.Repeat("x", 253)
	tests := map[string]struct{ group, namespace, name, want string }{
		"as kubectl names it": {"apps", "prod", "web", "apps.v1.Kind.prod.web"},
		"no namespace":        {"", "", "prod", "v1.Kind..prod"},
		"colons":              {"", "", "system:node", "v1.Kind..system%3Anode"},
		"a way out":           {"", "", "../../etc/passwd", "v1.Kind....%2F..%2Fetc%2Fpasswd"},
		"too long":            {"", "", long, "v1.Kind.." + long[:200-len("v1.Kind..")] + "-02f2723b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ref := object.Ref{Namespace: tt.namespace, Name: tt.name}
			ref.GVK = schema.GroupVersionKind{Group: tt.group, Version: "v1", Kind: "Kind"}
			if got := fileName(ref); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

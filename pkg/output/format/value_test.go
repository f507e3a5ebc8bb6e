package format

import (
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Edge case 16: null, absent and empty differ.
func TestValue(t *testing.T) {
	tests := map[string]struct {
		in   any
		want string
	}{
		"text":                      {"app:1.2", "app:1.2"},
		"empty":                     {"", `""`},
		"null":                      {nil, "null"},
		"the word null":             {"null", `"null"`},
		"number":                    {int64(3), "3"},
		"float":                     {0.5, "0.5"},
		"digits in a string":        {"3", `"3"`},
		"bool":                      {true, "true"},
		"surrounding blanks":        {" x ", `" x "`},
		"like an absent value":      {"(none)", `"(none)"`},
		"quotes":                    {`"x"`, `"\"x\""`},
		"map":                       {map[string]any{"b": []any{int64(1), "<&>"}, "a": nil}, `{"a":null,"b":[1,"<&>"]}`},
		"lines":                     {"one\ntwo\nthree\n", "one… (+2 lines)"},
		"one line with a newline":   {"one\n", `"one\n"`},
		"escape sequence":           {"\x1b[1m", `"\x1b[1m"`},
		"escape in a map":           {map[string]any{"a": "\u009b"}, `{"a":"\u009b"}`},
		"escape in a line":          {"\x1b[1m\nx", `\x1b[1m… (+1 line)`},
		"not representable in JSON": {complex(1, 2), "(1+2i)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Value(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
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
		"update":                 {managedfields.Owner{Manager: "kubectl-edit", Operation: "Update", Time: now.Add(-time.Hour)}, "kubectl-edit (Update, 1h ago)"},
		"apply":                  {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(-72 * time.Hour)}, "flux (Apply, 3d ago)"},
		"apply to a subresource": {managedfields.Owner{Manager: "flux", Operation: "Apply", Subresource: "status"}, "flux (Apply, status)"},
		"a time in the future":   {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(time.Hour)}, "flux (Apply, 0s ago)"},
		"only a name":            {managedfields.Owner{Manager: "x"}, "x"},
		"no name":                {managedfields.Owner{Operation: "Update"}, `"" (Update)`},
		"name with escapes":      {managedfields.Owner{Manager: "\x1b[1mx"}, `\x1b[1mx`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Owner(tt.owner, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

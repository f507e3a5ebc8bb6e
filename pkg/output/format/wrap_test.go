package format

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	for name, tt := range map[string]struct {
		width int
		line  string
		want  []string
	}{
		"no terminal":      {0, "    one two three", []string{"    one two three"}},
		"fits":             {17, "    one two three", []string{"    one two three"}},
		"breaks":           {12, "    one two three", []string{"    one two", "    three"}},
		"under the label":  {16, "  risk     one two three", []string{"  risk     one", "           two", "           three"}},
		"a command":        {10, "  next     kubectl scale", []string{"  next     kubectl scale"}},
		"a word too long":  {8, "  averylongword b", []string{"  averylongword", "  b"}},
		"wide":             {9, "  日本 日本 日本", []string{"  日本", "  日本", "  日本"}},
		"nothing to break": {3, "  abcdef", []string{"  abcdef"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Wrap([]string{tt.line}, tt.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An error on a terminal breaks between its words; a command in it stays whole.
func TestFit(t *testing.T) {
	columns := func() int { return 40 }
	for _, test := range []struct{ head, text, want string }{
		{"error: ", "wrong context: \"staging\" is not what is expected", "error: wrong context: \"staging\" is not\n  what is expected"},
		{"  hint: ", "choose it with --context: prod-eu, prod-us", "  hint: choose it with --context:\n    prod-eu, prod-us"},
		{"  hint: ", "see: kubectl k8sconnect stuck namespace/shop", "  hint: see: kubectl k8sconnect stuck namespace/shop"},
		{"  hint: ", "that takes long, so it is deleted with kubectl delete", "  hint: that takes long, so it is deleted with kubectl delete"},
		{"warning: ", "--from: kubectl owns nothing of the 1 object", "warning: --from: kubectl owns nothing of\n  the 1 object"},
		{"warning: ", "a is taken from kubectl (scale); see: kubectl auth whoami", "warning: a is taken from kubectl (scale); see: kubectl auth whoami"},
		{"error: ", "the same for web: deployment.apps/web -n shop", "error: the same for web:\n  deployment.apps/web -n shop"},
		{"error: ", strings.Repeat("x", 60), "error:\n  " + strings.Repeat("x", 60)},
		{"error: ", "one\ntwo", "error: one\ntwo"},
	} {
		if got := Fit(test.head, test.text, columns); got != test.want {
			t.Errorf("%q:\n%s", test.text, got)
		}
		if got := Fit(test.head, test.text, nil); got != test.head+test.text {
			t.Errorf("in a log:\n%s", got)
		}
	}
}

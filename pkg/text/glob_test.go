package text_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Brackets in a pattern mean the same as in a shell. With another meaning, a pattern would allow
// names that it should reject.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"[!p]*", "prod", false},
		{"[!p]*", "staging", true},
		{"[!p]*", "!", true},
		{"[^p]*", "prod", false},
		{"[p!]*", "!", true},
		{"[a-c!]x", "!x", true},
		{`\[!p]`, "[!p]", true},
		{"team-[!0-9]/[!p]*", "team-a/prod", false},
		{"team-[!0-9]/[!p]*", "team-a/dev", true},
		{"team-[!0-9]/[!p]*", "team-1/dev", false},
		{"prod", "prod", true},
		{"prod", "prod-1", false},
		{"*.example.com", "a.b.example.com", true},
		{"arn:*/prod-*", "arn:aws:eks:eu:1:cluster/prod-1", true},
	} {
		if got := text.Glob(c.glob, c.name); got != c.want {
			t.Errorf("%s, %s: %t", c.glob, c.name, got)
		}
	}
}

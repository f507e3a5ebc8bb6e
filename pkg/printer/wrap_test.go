package printer

import (
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
			if diff := cmp.Diff(tt.want, wrap([]string{tt.line}, tt.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package table

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// A shortened image keeps its name and tag. Its digest is removed first.
func TestCutImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a1", 32)
	tests := map[string]struct {
		value string
		width int
		want  string
	}{
		"fits":                     {"registry.example.com/team/app:1.2", 40, "registry.example.com/team/app:1.2"},
		"digest is removed first":  {"registry.example.com/team/app:1.2" + digest, 40, "registry.example.com/team/app:1.2@…"},
		"registry is removed next": {"registry.example.com:5000/team/app:1.2-hotfix" + digest, 30, "…/team/app:1.2-hotfix@…"},
		"only name and tag remain": {"registry.example.com:5000/team/app:1.2-hotfix" + digest, 14, "app:1.2-hotfix"},
		"no digest":                {"registry.example.com/team/app:1.2", 20, "…/team/app:1.2"},
		"not an image":             {"a sentence that is much too long to be shown", 20, format.CutMiddle("a sentence that is much too long to be shown", 20)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cutValue(tt.value, tt.width); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	a, b := cutPair("app:1"+digest, "app:1"+strings.Replace(digest, "a1", "b1", 1), 20, 20)
	if a == b {
		t.Errorf("two images that differ in their digests look the same: %q", a)
	}
}

func TestValues(t *testing.T) {
	tests := map[string]struct {
		yours, live any
		absent      bool
		want        [2]string
	}{
		"absent":                     {yours: "a", absent: true, want: [2]string{"a", "(none)"}},
		"null":                       {yours: "a", want: [2]string{"a", "null"}},
		"different line":             {yours: "a\nb\nc", live: "a\nx\nc", want: [2]string{"line 2: b", "line 2: x"}},
		"one has more lines":         {yours: "a\nb", live: "a\nb\nc", want: [2]string{"(2 lines)", "line 3: c"}},
		"only one has several lines": {yours: "a\nb", live: "a", want: [2]string{"a… (+1 line)", "a"}},
		"a number for a string":      {yours: int64(3), live: "3", want: [2]string{"3", `"3"`}},
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

// Different values look different at any width of the terminal.
func TestCutPair(t *testing.T) {
	long := strings.Repeat("x", 40)
	tests := map[string][2]string{
		"at the end":          {long + "a", long + "b"},
		"at the start":        {"a" + long, "b" + long},
		"in the middle":       {long + "a" + long, long + "b" + long},
		"one value is longer": {long, long + long},
		"wide characters":     {strings.Repeat("日", 40) + "a" + long, strings.Repeat("日", 40) + "b" + long},
		"near the start":      {"xxa" + long, "xxb" + long},
		"after the middle":    {long + "xxxxxxa" + long, long + "xxxxxxb" + long},
	}
	for name, pair := range tests {
		t.Run(name, func(t *testing.T) {
			for width := 10; width < 60; width++ {
				a, b := cutPair(pair[0], pair[1], width, width)
				if a == b {
					t.Errorf("at %d columns both are %s", width, a)
				}
				if format.Cells(a) > width || format.Cells(b) > width {
					t.Errorf("at %d columns: %s is %d, %s is %d wide", width, a, format.Cells(a), b, format.Cells(b))
				}
			}
		})
	}
}

// Adoption is offered if it settles all conflicts of a run.
func TestAdoptionIsOfferedIfItSettlesAll(t *testing.T) {
	for other, want := range map[string]string{"flux": "flux", "other": "", "": ""} {
		if got := soleOwner([]event.Applied{{AdoptFrom: "flux"}, {AdoptFrom: other}}); got != want {
			t.Errorf("flux and %q: offered %q", other, got)
		}
	}
}

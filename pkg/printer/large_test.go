package printer

import (
	"strings"
	"testing"
)

// An image that has to be shortened keeps its name and its tag; the digest goes first.
func TestCutImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a1", 32)
	tests := map[string]struct {
		value string
		width int
		want  string
	}{
		"fits":                    {"registry.example.com/team/app:1.2", 40, "registry.example.com/team/app:1.2"},
		"without its digest":      {"registry.example.com/team/app:1.2" + digest, 40, "registry.example.com/team/app:1.2@…"},
		"then without its origin": {"registry.example.com:5000/team/app:1.2-hotfix" + digest, 30, "…/team/app:1.2-hotfix@…"},
		"name and tag":            {"registry.example.com:5000/team/app:1.2-hotfix" + digest, 14, "app:1.2-hotfix"},
		"no digest":               {"registry.example.com/team/app:1.2", 20, "…/team/app:1.2"},
		"no image":                {"a sentence that is much too long to be shown", 20, cutMiddle("a sentence that is much too long to be shown", 20)},
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

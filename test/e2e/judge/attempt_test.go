package judge_test

import (
	"slices"
	"testing"
)

// A write was first tried on an old version, and took the path from its owner there. The changes of
// other writes in between are not its own.
func TestAttempt(t *testing.T) {
	const stamp = ".metadata.annotations.judge"
	before := state{
		owners: map[string][]string{".data.c": {"one (Update)@v1"}, ".data.d": {"one (Apply)@v1"}, stamp: {"one (Update)@v1"}},
		values: map[string]string{".data.c": "1", ".data.d": "1", stamp: "a"},
	}
	after := state{
		owners: map[string][]string{".data.c": {"one (Apply)@v1", "two (Apply)@v1"}, ".data.d": {"one (Apply)@v1", "two (Apply)@v1"}, stamp: {"two (Apply)@v1"}},
		values: map[string]string{".data.c": "2", ".data.d": "1", stamp: "b"},
	}
	changes := between(before, attempt(before, after))
	for _, path := range []string{".data.c", stamp} {
		if c := changes[path]; c.kind != taken || !slices.Equal(c.after, []string{"two (Apply)@v1"}) {
			t.Errorf("%s: %s", path, c)
		}
	}
	if c, ok := changes[".data.d"]; ok {
		t.Errorf(".data.d came to be shared: %s", c)
	}
}

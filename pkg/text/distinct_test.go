package text

import (
	"slices"
	"testing"
)

func TestDistinct(t *testing.T) {
	if got := Distinct([]string{"b", "", "a", "b", "a", ""}); !slices.Equal(got, []string{"b", "", "a"}) {
		t.Errorf("%q", got)
	}
	if got := Distinct([]int{}); got != nil {
		t.Errorf("%v", got)
	}
}

package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Each hunk stands where its header says, in both texts.
func TestHunksStandWhereTheirHeadersSay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hunks := 0
	for range 2000 {
		var before, after []string
		for i := range r.IntN(60) {
			line := fmt.Sprintf("key%d: %d", i, r.IntN(3))
			switch r.IntN(9) {
			case 0:
				before = append(before, line)
			case 1:
				after = append(after, line)
			case 2:
				before, after = append(before, line), append(after, line+" changed")
			default:
				before, after = append(before, line), append(after, line)
			}
		}
		whole := func(lines []string) string { return strings.Join(append(lines, ""), "\n") }
		lines, err := unified("a", "b", whole(before), whole(after), 3)
		if err != nil {
			t.Fatal(err)
		}
		var at [2]int
		for i, line := range lines {
			switch {
			case i < 2:
			case strings.HasPrefix(line, "@@ "):
				hunks++
				var sides [2]string
				if _, err := fmt.Sscanf(line, "@@ -%s +%s @@", &sides[0], &sides[1]); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				for n, side := range sides {
					count := 1
					if _, err := fmt.Sscanf(side, "%d,%d", &at[n], &count); err != nil {
						if _, err := fmt.Sscanf(side, "%d", &at[n]); err != nil {
							t.Fatalf("%q: %v", line, err)
						}
					}
					if count > 0 {
						at[n]--
					}
				}
			default:
				for n, text := range [2][]string{before, after} {
					if line[0] != "+-"[n] {
						if text[at[n]] != line[1:] {
							t.Fatalf("line %d of text %d is %q, the diff has %q:\n%s", at[n]+1, n+1, text[at[n]], line, strings.Join(lines, "\n"))
						}
						at[n]++
					}
				}
			}
		}
	}
	if hunks < 2000 {
		t.Errorf("%d hunks, want at least 2000", hunks)
	}
}

package format

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A table that is wider than the terminal is folded within its widest columns.
func TestAligned(t *testing.T) {
	rows := [][]string{
		{"MANAGER", "KIND", "OBJECTS"},
		{"kube-controller-manager (Update, status)", "validatingwebhookconfiguration.admissionregistration.k8s.io", "12"},
		{"  flux (Apply)", "configmap", "3"},
	}
	wide := strings.Join([]string{
		"MANAGER                                    KIND                                                          OBJECTS",
		"kube-controller-manager (Update, status)   validatingwebhookconfiguration.admissionregistration.k8s.io   12",
		"  flux (Apply)                             configmap                                                     3",
		"",
	}, "\n")
	for name, tt := range map[string]struct {
		width int
		want  string
	}{
		"no terminal": {0, wide},
		"it fits":     {112, wide},
		"one column": {100, strings.Join([]string{
			"MANAGER                                    KIND                                              OBJECTS",
			"kube-controller-manager (Update, status)   validatingwebhookconfiguration.                   12",
			"                                           admissionregistration.k8s.io",
			"  flux (Apply)                             configmap                                         3",
			"",
		}, "\n")},
		"two columns": {60, strings.Join([]string{
			"MANAGER                   KIND                       OBJECTS",
			"kube-controller-manager   validatingwebhookconfigu   12",
			"(Update, status)          ration.",
			"                          admissionregistration.",
			"                          k8s.io",
			"  flux (Apply)            configmap                  3",
			"",
		}, "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Aligned(rows, func() int { return tt.width })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Aligned(rows, nil); got != wide {
		t.Errorf("in a log:\n%s", got)
	}
}

// Nothing is lost by folding, and no line is wider than a terminal that has room for the least of
// each column.
func TestAlignedLosesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	units := []string{"a", "日本", "-", ".", " ", "é", "word", "👩‍🚀", "/"}
	for range 400 {
		columns := 1 + random.IntN(6)
		rows := make([][]string, 1+random.IntN(4))
		for i := range rows {
			for range columns {
				cell := ""
				for range random.IntN(30) {
					cell += units[random.IntN(len(units))]
				}
				rows[i] = append(rows[i], cell)
			}
		}
		least := columns*LeastValue + (columns-1)*len(between)
		width := least + random.IntN(80)
		got := Aligned(rows, func() int { return width })
		letters := func(s string) map[rune]int {
			n := map[rune]int{}
			for _, r := range s {
				if r != ' ' && r != '\n' {
					n[r]++
				}
			}
			return n
		}
		if diff := cmp.Diff(letters(fmt.Sprint(Aligned(rows, nil))), letters(got)); diff != "" {
			t.Fatalf("%q at %d: %s", rows, width, diff)
		}
		for line := range strings.Lines(got) {
			if n := Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

package format

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
		"no terminal":             {0, "    one two three", []string{"    one two three"}},
		"fits":                    {17, "    one two three", []string{"    one two three"}},
		"breaks":                  {12, "    one two three", []string{"    one two", "    three"}},
		"below the label":         {16, "  risk     one two three", []string{"  risk     one", "           two", "           three"}},
		"a command":               {10, "  next     kubectl scale", []string{"  next     kubectl scale"}},
		"a word that is too long": {8, "  averylongword b", []string{"  averylongword", "  b"}},
		"wide":                    {9, "  日本 日本 日本", []string{"  日本", "  日本", "  日本"}},
		"nothing to break at":     {3, "  abcdef", []string{"  abcdef"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Wrap([]string{tt.line}, tt.width)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An error is wrapped between words on a terminal; a command in it stays whole.
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

// A table that is wider than the terminal wraps its widest columns.
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
			"MANAGER                        KIND                                                          OBJECTS",
			"kube-controller-manager        validatingwebhookconfiguration.admissionregistration.k8s.io   12",
			"(Update, status)",
			"  flux (Apply)                 configmap                                                     3",
			"",
		}, "\n")},
		"two columns": {60, strings.Join([]string{
			"MANAGER                   KIND                       OBJECTS",
			"kube-controller-manager",
			"(Update, status)",
			" validatingwebhookconfiguration.admissionregistration.k8s.io",
			"                                                     12",
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

// Wrapping loses nothing and breaks no word, and no line is wider than the terminal, unless the terminal is too narrow
// for the narrowest columns.
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
		for word := range strings.FieldsSeq(strings.Join(slices.Concat(rows...), " ")) {
			if Cells(word) <= width && !strings.Contains(got, word) {
				t.Fatalf("%q is broken at %d columns:\n%s", word, width, got)
			}
		}
		for line := range strings.Lines(got) {
			if n := Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

func TestLines(t *testing.T) {
	got := Lines("\n one\r\n\ttwo  \n\nthree\x1b\n\n")
	want := []string{"one", "    two", "", `three\x1b`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShorten(t *testing.T) {
	ca := strings.Repeat("LS0tLS1CRUdJTiBD", 80)
	for name, test := range map[string]struct{ line, want string }{
		"short":     {"caBundle: LS0t", "caBundle: LS0t"},
		"a CA":      {"    caBundle: " + ca, "    caBundle: " + ca[:48] + "… 1,280 bytes"},
		"prose":     {strings.Repeat("word ", 200), strings.Repeat("word ", 200)},
		"in quotes": {`Invalid value: "` + ca + `": not a certificate`, `Invalid value: "` + ca[:47] + "… 1,283 bytes not a certificate"},
	} {
		if got := Shorten(test.line); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Different values look different after they are shortened.
func TestShortenPair(t *testing.T) {
	ca := strings.Repeat("é", 700)
	for _, at := range []int{0, 2, 20, 700, 1000, 1398} {
		a, b := "caBundle: "+ca, "caBundle: "+ca[:at]+"xy"+ca[at+2:]
		sa, sb := ShortenPair(a, b)
		if sa == sb || len(sa) > 120 || len(sb) > 120 || !strings.HasSuffix(sa, "… 1,400 bytes") && !strings.HasSuffix(sa, " 1,400 bytes") {
			t.Errorf("at %d: %q and %q", at, sa, sb)
		}
		if !strings.HasPrefix(sa, "caBundle: ") {
			t.Errorf("at %d: the key is gone: %q", at, sa)
		}
	}
	if a, b := ShortenPair("x", "x"); a != "x" || b != "x" {
		t.Errorf("short: %q, %q", a, b)
	}
	if a, b := ShortenPair(ca, ca); a != b || len(a) > 80 {
		t.Errorf("the same: %q, %q", a, b)
	}
}

package verb

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// A fault of many objects is a few lines with a count and one hint. Faults that differ in more than
// the object, and errors without an object, are all printed.
func TestOneMistakeIsAFewLines(t *testing.T) {
	faults := func(n int, text string) error {
		all := make([]error, n)
		for i := range all {
			namespace := fmt.Sprint("team-", i%20)
			all[i] = &object.FaultError{
				Source: object.Source{File: "all.yaml", Line: 4*i + 1}, Subject: fmt.Sprintf("configmap/c%d -n %s", i, namespace),
				Text: strings.NewReplacer("NS", fmt.Sprintf("%q", namespace), "NUMBER", fmt.Sprint(i)).Replace(text), Advice: "without -n",
			}
		}
		return errors.Join(all...)
	}
	plain := func(n int) error {
		all := make([]error, n)
		for i := range all {
			all[i] = errors.New("refused")
		}
		return errors.Join(all...)
	}
	for name, tt := range map[string]struct {
		err           error
		verbose       bool
		errors, hints int
		count         string
	}{
		"four hundred objects":  {err: faults(400, "namespace NS in the manifest, but -n default"), errors: 4, hints: 1, count: "397 more objects with the same fault"},
		"verbose":               {err: faults(400, "namespace NS in the manifest, but -n default"), verbose: true, errors: 400, hints: 1},
		"four objects":          {err: faults(4, "namespace NS in the manifest"), errors: 4, hints: 1},
		"five objects":          {err: faults(5, "namespace NS in the manifest"), errors: 4, hints: 1, count: "2 more objects with the same fault"},
		"other faults":          {err: faults(9, "field NUMBER is unknown"), errors: 9, hints: 1},
		"two mistakes":          {err: errors.Join(faults(9, "namespace NS"), faults(9, "no kind")), errors: 8, hints: 1, count: "6 more objects with the same fault"},
		"errors without object": {err: plain(9), errors: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GITHUB_ACTIONS", "")
			streams, _, _, out := genericiooptions.NewTestIOStreams()
			reportErrors(streams, Reporting{Say: func(s string) string { return s }, Verbose: tt.verbose}, tt.err)
			got := out.String()
			if strings.Count(got, "error: ") != tt.errors || strings.Count(got, "  hint: ") != tt.hints || !strings.Contains(got, tt.count) {
				t.Errorf("want %d errors, %d hints and %q, got:\n%s", tt.errors, tt.hints, tt.count, got)
			}
		})
	}
}

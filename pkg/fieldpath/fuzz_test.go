package fieldpath_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Each path that was parsed is formatted as a text that parses to the same path.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		`.spec.containers[name="app"].image`, `metadata.labels['a.b/c']`, `.f[="x"]`, `[0]`,
		`.p[port=53,protocol=TCP]`, `.x[a={"b":[1]}]`, `.x[{}]`, `["\xff"]`, `.x[=1e300]`, `.x[a=-0]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			return
		}
		again, err := fieldpath.ParsePath(p.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", text, p, err)
		}
		if !again.Equal(p) || again.String() != p.String() {
			t.Fatalf("%q is written as %q, which is read as %q", text, p, again)
		}
	})
}

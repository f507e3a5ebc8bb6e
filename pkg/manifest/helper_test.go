package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// write creates files in a new working folder.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lines returns the errors with their hints.
func lines(err error) []string {
	var all []string
	for _, e := range flat(err) {
		all = append(all, e.Error())
		var h interface{ Hint() string }
		if errors.As(e, &h) && h.Hint() != "" {
			all = append(all, "  "+h.Hint())
		}
	}
	return all
}

// places returns the objects as "FILE:LINE KIND/NAMESPACE/NAME".
func places(res Result) []string {
	var all []string
	for _, m := range res.Objects {
		kind, name := m.Object.GetKind(), m.Object.GetName()
		if ns := m.Object.GetNamespace(); ns != "" {
			name = ns + "/" + name
		}
		all = append(all, m.Source.String()+" "+kind+"/"+name)
	}
	return all
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

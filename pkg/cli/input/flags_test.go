package input

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// -f accepts several names separated by commas, unless the whole word is the name of a file.
func TestFilenames(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a,b.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string][]string{
		"a,b.yaml":                    {"a,b.yaml"},
		"a.yaml,b.yaml":               {"a.yaml", "b.yaml"},
		"-":                           {"-"},
		"https://example.com/a,b":     {"https://example.com/a,b"},
		"a.yaml,https://example.com/": {"a.yaml", "https://example.com/"},
		"https://a.com/,https://b.com/": {
			"https://a.com/", "https://b.com/",
		},
	} {
		if diff := cmp.Diff(want, filenames([]string{given})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
}

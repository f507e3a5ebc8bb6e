package completion

import (
	"slices"
	"strings"
	"testing"
)

func TestNamedObjects(t *testing.T) {
	for args, want := range map[string][]named{
		"":                                   nil,
		".spec.replicas":                     nil,
		"deploy":                             {{"deploy", ""}},
		"deploy/web .spec.replicas cm/c":     {{"deploy", "web"}, {"cm", "c"}},
		"deploy web api":                     {{"deploy", "web"}, {"deploy", "api"}},
		`deploy/web .metadata.labels["a/b"]`: {{"deploy", "web"}},
	} {
		if got := namedObjects(strings.Fields(args)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
}

func TestAfterComma(t *testing.T) {
	for typed, want := range map[string][]string{
		"":            {"flux", "helm"},
		"fl":          {"flux", "helm"}, // The shell leaves out what does not begin so.
		"flux,":       {"flux,helm"},
		"argo,flux,h": {"argo,flux,helm"},
	} {
		if got := afterComma([]string{"flux", "helm"}, typed); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", typed, got, want)
		}
	}
}

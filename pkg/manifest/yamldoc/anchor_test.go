package yamldoc

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// mayAnchor must return true for every text in which a YAML parser finds an anchor. Otherwise the
// size of the text's aliases would not be limited.
func TestMayAnchor(t *testing.T) {
	tokens := []string{
		"&a", "&b-1 ", "&_ ", "&", "&&", "*a", "*b-1 ", " ", "\n", "\n  ", "\t", "- ", "-", "a: ", "a:", "\"k\":", "? ", ": ",
		"[", "]", "{", "}", ", ", ",", "\"x\"", "'y'", "z", "|\n  ", "!t ", "!!str ", "# ", "--- ", "\u0085", "\u2028", "…", "R&D", "a=1&b=2",
	}
	found, spared := 0, 0
	seeds, enough := uint64(100_000), 1000
	if testing.Short() {
		seeds, enough = 20_000, 200
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var text strings.Builder
		for range 1 + rnd.IntN(9) {
			text.WriteString(tokens[rnd.IntN(len(tokens))])
		}
		if !strings.Contains(text.String(), "&") {
			continue
		}
		var tree yaml.Node
		if yaml.Unmarshal([]byte(text.String()), &tree) != nil {
			continue
		}
		switch may := mayAnchor([]byte(text.String())); {
		case hasAnchor(&tree):
			found++
			if !may {
				t.Errorf("mayAnchor() = false for %q, which has an anchor", text.String())
			}
		case !may:
			spared++
		}
	}
	if found < enough || spared < enough {
		t.Errorf("checked only %d texts with an anchor and %d without", found, spared)
	}
}

func hasAnchor(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, hasAnchor)
}

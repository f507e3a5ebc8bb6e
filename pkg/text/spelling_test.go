package text

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"replicas", "readyReplicas", "availableReplicas", "conditions"}
	for word, want := range map[string]string{
		"readyReplica": "readyReplicas",
		"Replicas":     "replicas",
		"conditons":    "conditions",
		"codnitions":   "conditions",
		"phase":        "",
		"re":           "",
		"":             "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestWithSuggestion(t *testing.T) {
	for name, want := range map[string]string{"flx": "flx (did you mean flux?)", "flux": "flux", "helm": "helm"} {
		if got := WithSuggestion(name, []string{"flux"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

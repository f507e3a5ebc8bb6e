package workflows

import (
	"os"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

// The page that lists tested versions names those of the workflow, and no other one, as tested every
// week.
func TestTestedMinors(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/kubernetes.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Strategy struct {
				Matrix struct{ Minor []string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	weekly := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (1\.\d+) \|.*every week.*$`).FindAllStringSubmatch(string(page), -1) {
		weekly[row[1]] = true
	}
	minors := workflow.Jobs["test"].Strategy.Matrix.Minor
	for _, minor := range minors {
		if !weekly[minor] {
			t.Errorf("docs/install.md does not say that %s is tested every week", minor)
		}
	}
	if len(minors) == 0 || len(weekly) != len(minors) {
		t.Errorf("the workflow tests %v, and the page says %v", minors, weekly)
	}
}

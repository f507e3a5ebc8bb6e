package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An alert on a metric that does not exist never fires, and goes unnoticed.
func TestAlertsUseExistingMetrics(t *testing.T) {
	var source strings.Builder
	err := filepath.WalkDir(filepath.Join(root(t), "pkg"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		source.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`k8sconnect_(\w+)`)
	asked := 0
	for _, o := range rendered(t, "--set", "monitoring.prometheusRule.enabled=true,monitoring.serviceMonitor.enabled=true") {
		groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
		for _, group := range groups {
			rules, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
			for _, rule := range rules {
				expression, _, _ := unstructured.NestedString(rule.(map[string]any), "expr")
				for _, metric := range ours.FindAllStringSubmatch(expression, -1) {
					asked++
					// Its name, with or without the common prefix and the suffix of counters.
					bare := strings.TrimSuffix(metric[1], "_total")
					if !slices.ContainsFunc([]string{metric[0], metric[1], bare}, func(name string) bool {
						return strings.Contains(source.String(), `"`+name+`"`)
					}) {
						t.Errorf("no metric of the program has the name %s", metric[0])
					}
				}
			}
		}
	}
	if asked == 0 {
		t.Error("no alert uses a metric of k8sconnect, want some")
	}
}

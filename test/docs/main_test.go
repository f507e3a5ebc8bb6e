package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// site is the control plane for all pages.
var site = cluster.Shared{Options: cluster.Options{Controllers: true, Nodes: 1, AuditLog: "audit.log"}}

var update = flag.Bool("update", false, "rewrite outputs and pictures that are stale")

// This test binary is also the plugin, so that the pages run the code that was just compiled.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kubectl-k8sconnect", "kubectl_complete-k8sconnect":
		plugin.Main()
	default:
		flag.Parse()
		plugin.HeedSignals()
		os.Exit(site.Main(reportjudge.Runner{M: m, Shared: &site, Elsewhere: true}))
	}
}

// root is the project's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// pages returns README.md and docs/*.md, by path in the project.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	names := []string{"README.md"}
	for _, path := range found {
		names = append(names, "docs/"+filepath.Base(path))
	}
	if only := os.Getenv("PAGE"); only != "" {
		kept := names[:0]
		for _, name := range names {
			if slices.Contains(strings.Split(only, ","), strings.TrimSuffix(filepath.Base(name), ".md")) {
				kept = append(kept, name)
			}
		}
		names = kept
	}
	return names
}

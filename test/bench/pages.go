package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/pages"
)

const (
	// pageShort is what a reader finishes, and pageRuns has all rows.
	pageShort, pageRuns = "performance.md", "performance-runs.md"
	growthImage         = "growth.svg"
)

// renew writes what was measured into the pages of a folder, and draws their picture.
func (r *results) renew(dir string) error {
	parts := map[string]func(io.Writer){}
	switch {
	case r.Peers:
		parts["peers"], parts["peers, all rows"] = r.ahead, r.rows
	case len(r.growth()) > 0 && r.Growth:
		parts["growth"] = func(out io.Writer) {
			fmt.Fprintf(out, "\n![Seconds and memory from 100 to 100,000 ConfigMaps](%s)\n\n", growthImage)
			r.growthTable(out)
		}
		parts["growth, targets"], parts["growth, all rows"] = r.targets, r.rows
		if err := os.WriteFile(filepath.Join(dir, growthImage), []byte(growthPicture(growthCounts(), r.growth())), 0o644); err != nil {
			return err
		}
	default:
		parts["summary"], parts["targets"], parts["all rows"] = r.summary, r.targets, r.rows
	}
	texts := map[string]string{}
	for name, write := range parts {
		var out bytes.Buffer
		r.when(&out)
		write(&out)
		texts[name] = out.String()
	}
	return pages.Fill([]string{filepath.Join(dir, pageShort), filepath.Join(dir, pageRuns)}, texts)
}

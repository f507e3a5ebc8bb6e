package table

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// A large value is shown as a diff with at most largeLines lines and largeContext lines around each
// change. The verb diff shows all of it.
const (
	largeLines   = 20
	largeContext = 2
	// largeWidth is the widest map or list, as JSON, that is shown on one line.
	largeWidth = 60
)

// pathGap separates a path, which users copy, from its values.
const pathGap = "     "

// isLarge reports whether a value in conflict is a map or list that would be useless if shortened
// to one line.
func isLarge(c managedfields.Conflict) bool {
	large := func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return format.Cells(format.Compact(v)) > largeWidth
		default:
			return false
		}
	}
	return c.HasLive && (large(c.Yours) || large(c.Live))
}

// largeRows shows the path and owners of each large value, with the diff below.
func largeRows(b output.Base, conflicts []managedfields.Conflict, width int) []string {
	var rows []string
	for _, c := range conflicts {
		rows = append(rows, text.Printable(c.Path.String())+pathGap+format.OwnerList(c.Owners, b.Now()))
		for _, line := range largeDiff(c, b.Verbose) {
			if room := width - len("    "); width > 0 && room > format.LeastValue {
				line = format.Cut(line, room)
			}
			rows = append(rows, "  "+b.Paint.DiffLine(line))
		}
	}
	return rows
}

// largeDiff returns the unified diff of a value as YAML. It is shortened unless whole is set.
func largeDiff(c managedfields.Conflict, whole bool) []string {
	live, err := yaml.Marshal(c.Live)
	if err != nil {
		return []string{text.Printable(err.Error())}
	}
	yours, err := yaml.Marshal(c.Yours)
	if err != nil {
		return []string{text.Printable(err.Error())}
	}
	unified, err := udiff.ToUnified("live", "yours", string(live), udiff.Lines(string(live), string(yours)), largeContext)
	if err != nil {
		return []string{text.Printable(fmt.Sprintf("no diff of %s: %v", c.Path, err))}
	}
	all := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	if !whole {
		all = shortened(all)
	}
	for i, line := range all {
		all[i] = text.Printable(line)
	}
	if more := len(all) - largeLines; more > 1 && !whole {
		all = append(all[:largeLines], "and "+text.Count(more, "more line")+"; diff shows all")
	}
	return all
}

func splitLarge(conflicts []managedfields.Conflict) (small, large []managedfields.Conflict) {
	for _, c := range conflicts {
		if isLarge(c) {
			large = append(large, c)
		} else {
			small = append(small, c)
		}
	}
	return small, large
}

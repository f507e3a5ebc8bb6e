// Command generate writes the files of pkg/deprecation that come from Kubernetes: the table of
// built-in kinds, the list of fields documented as deprecated, and the chart's list of kinds. It
// reads only pinned Go modules, so that its output depends on the repository alone.
//
//	go run ./pkg/deprecation/internal/cmd/generate          # write the files
//	go run ./pkg/deprecation/internal/cmd/generate -check   # fail if one differs
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the repository")
	check := flag.Bool("check", false, "write nothing; fail if a file differs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *check); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// file is a generated file: its path in the repository, and its content.
type file struct {
	path    string
	content []byte
}

func run(ctx context.Context, root string, check bool) error {
	dir := filepath.Join(root, "pkg", "deprecation")
	pins, err := readPins(filepath.Join(dir, "modules.txt"))
	if err != nil {
		return err
	}
	mods, err := download(ctx, pins)
	if err != nil {
		return err
	}
	overlay, err := readOverlay(filepath.Join(dir, "overlay.txt"))
	if err != nil {
		return err
	}
	table, err := unite(mods, overlay)
	if err != nil {
		return err
	}
	oldest, err := oldestServer(filepath.Join(root, "charts", "k8sconnect", "Chart.yaml"))
	if err != nil {
		return err
	}
	fields, err := documented(newest(mods).dir)
	if err != nil {
		return err
	}
	files := []file{
		{"pkg/deprecation/builtin.txt", table.text(mods)},
		{"pkg/deprecation/testdata/documented.txt", fieldsText(fields, newest(mods))},
		{"charts/k8sconnect/files/deprecated.yaml", table.chart(oldest)},
	}
	if check {
		return compare(root, files)
	}
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(root string, files []file) error {
	var stale []string
	for _, f := range files {
		now, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.path)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, f.content) {
			stale = append(stale, f.path)
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("not what the pinned modules give: %s; run make generate", strings.Join(stale, ", "))
	}
	return nil
}

// Command times runs a test binary for go test -exec, one test at a time, and prints a row of
// a table for each test: the CPU seconds that it and its processes took, its package and name,
// its circle, and the first sentence of its comment. A shared cluster counts for the test that
// starts it.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(1)
	}
}

// event matches a test binary's line about the start or the pause of a test.
var event = regexp.MustCompile(`^\s*(=== RUN|=== CONT|=== PAUSE|--- PASS:|--- FAIL:|--- SKIP:) +(Test\S+)`)

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: go test -exec bin/times -v -parallel 1 PACKAGES")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	spent, running, before := map[string]float64{}, "", 0.0
	var said strings.Builder
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // the program has ended
		}
		said.WriteString(line)
		m := event.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		after := max(before, processTimes().of(cmd.Process.Pid))
		spent[running] += after - before
		before, running = after, ""
		if strings.HasPrefix(m[1], "===") && m[1] != "=== PAUSE" {
			running = row(m[2])
		}
	}
	failed := cmd.Wait()
	if failed != nil {
		fmt.Fprint(os.Stderr, &said)
	}
	delete(spent, "")
	about, err := comments()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, name := range slices.SortedFunc(maps.Keys(spent), func(a, b string) int { return cmp.Compare(spent[b], spent[a]) }) {
		fmt.Printf("| %.1f | %s | %s | %s |\n", spent[name], filepath.Base(dir), name, about[name])
	}
	return failed
}

// row returns the test that a subtest's time is added to; each script has its own row.
func row(test string) string {
	if strings.HasPrefix(test, "TestScript/") {
		return test
	}
	name, _, _ := strings.Cut(test, "/")
	return name
}

// process is the kernel's data on a process.
type process struct {
	parent  int
	seconds float64 // its own, and of children that it waited for
}

type processes map[int]process

func processTimes() processes {
	const hertz = 100
	all := processes{}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
		var p process
		p.parent, _ = strconv.Atoi(fields[1])
		for _, field := range fields[11:15] {
			ticks, _ := strconv.ParseFloat(field, 64)
			p.seconds += ticks / hertz
		}
		all[pid] = p
	}
	return all
}

// of returns the CPU seconds of a process and its descendants.
func (all processes) of(pid int) float64 {
	sum := all[pid].seconds
	for child, p := range all {
		if p.parent == pid {
			sum += all.of(child)
		}
	}
	return sum
}

// comments returns the circle and the first sentence of the comment of each test here, as two
// cells.
func comments() (map[string]string, error) {
	found, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	about := map[string]string{}
	for _, path := range found {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				about[f.Name.Name] = circleOf(f) + " | " + new(doc.Package).Synopsis(f.Doc.Text())
			}
		}
	}
	for circle, dir := range map[string]string{"first": "testdata", "full": "testdata/full"} {
		scripts, err := filepath.Glob(dir + "/*.txtar")
		if err != nil {
			return nil, err
		}
		for _, path := range scripts {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			first, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			about["TestScript/"+strings.TrimSuffix(filepath.Base(path), ".txtar")] = circle + " | " + first
		}
	}
	return about, nil
}

// circleOf returns a test's circle: the test calls package circle at its beginning, or later for a
// part of it.
func circleOf(f *ast.FuncDecl) string {
	called := func(n ast.Node) string {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "circle" {
					return strings.ToLower(s.Sel.Name)
				}
			}
		}
		return ""
	}
	for _, statement := range f.Body.List {
		if e, ok := statement.(*ast.ExprStmt); ok && called(e.X) != "" {
			return called(e.X)
		}
	}
	circle := "first"
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if called(n) != "" {
			circle = "first in part"
		}
		return true
	})
	return circle
}

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
	"go/doc"
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
	var message strings.Builder
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // the program has ended
		}
		message.WriteString(line)
		m := event.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		after := max(before, cpu(cmd.Process.Pid))
		spent[running] += after - before
		before, running = after, ""
		if strings.HasPrefix(m[1], "===") && m[1] != "=== PAUSE" {
			running = row(m[2])
		}
	}
	failed := cmd.Wait()
	if failed != nil {
		fmt.Fprint(os.Stderr, &message)
	}
	delete(spent, "")
	about := comments()
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

// cpu returns the CPU seconds of a process and its descendants, each with those of children that it
// waited for.
func cpu(pid int) float64 {
	const hertz = 100
	children, seconds := map[int][]int{}, map[int]float64{}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
		for _, field := range fields[11:15] {
			ticks, _ := strconv.ParseFloat(field, 64)
			seconds[child] += ticks / hertz
		}
	}
	all := []int{pid}
	sum := 0.0
	for i := 0; i < len(all); i++ {
		sum += seconds[all[i]]
		all = append(all, children[all[i]]...)
	}
	return sum
}

var (
	test    = regexp.MustCompile(`((?:\n//.*)*)\nfunc (Test\w+)\(t \*testing\.T\) \{((?s:.*?))\n\}`)
	slashes = regexp.MustCompile(`\n// ?`)
	// A test calls package circle at its beginning, or later for a part of it.
	whole = regexp.MustCompile(`\n\tcircle\.(\w+)\(`)
)

// comments returns the circle and the first sentence of the comment of each test here, as two
// cells.
func comments() map[string]string {
	about := map[string]string{}
	files, _ := filepath.Glob("*_test.go")
	for _, path := range files {
		text, _ := os.ReadFile(path)
		for _, m := range test.FindAllStringSubmatch(string(text), -1) {
			circle := "first"
			if of := whole.FindStringSubmatch(m[3]); of != nil {
				circle = strings.ToLower(of[1])
			} else if strings.Contains(m[3], "circle.") {
				circle = "first in part"
			}
			about[m[2]] = circle + " | " + new(doc.Package).Synopsis(slashes.ReplaceAllString(m[1], "\n"))
		}
	}
	for circle, dir := range map[string]string{"first": "testdata", "full": "testdata/full"} {
		scripts, _ := filepath.Glob(dir + "/*.txtar")
		for _, path := range scripts {
			text, _ := os.ReadFile(path)
			first, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			about["TestScript/"+strings.TrimSuffix(filepath.Base(path), ".txtar")] = circle + " | " + first
		}
	}
	return about
}

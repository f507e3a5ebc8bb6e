package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// software describes the modules linked into a program.
type software struct {
	name    string   // the file name, without .exe
	modules []module // sorted by path; the standard library is the module "std"
}

// module is a module with packages in a program.
type module struct {
	path, version string
	license       string // the SPDX expression for all its texts
	texts         []Text // above its linked packages
}

// Text is a licence file or a notice, with its path in the module.
type Text struct{ File, Content string }

// isLicense matches the names of files that have to be distributed.
var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

// linked returns the modules in a program, with their licences from the module cache. It runs the
// Go tool in root, the project's folder.
func linked(ctx context.Context, root, binary string) (*software, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	out, err := output(ctx, root, nil, "go", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, goroot, _ := strings.Cut(out, "\n")
	if version != info.GoVersion {
		return nil, fmt.Errorf("the program was built with %s, but this is %s", info.GoVersion, version)
	}
	sources, err := list(ctx, root, info)
	if err != nil {
		return nil, err
	}
	sources["std"] = source{strings.TrimPrefix(version, "go"), goroot, []string{goroot}}
	info.Deps = append(info.Deps, &debug.Module{Path: "std", Version: sources["std"].version})
	slices.SortFunc(info.Deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	s := &software{name: strings.TrimSuffix(filepath.Base(binary), ".exe")}
	var wrong []error
	for _, dep := range info.Deps {
		m := module{path: dep.Path, version: dep.Version}
		from := sources[dep.Path]
		if dep.Replace != nil || from.version != dep.Version {
			return nil, fmt.Errorf("%s: %s %s is linked, but go.mod has %q, or replaces it", binary, dep.Path, dep.Version, from.version)
		}
		if m.texts, err = from.texts(); err == nil {
			m.license, err = expression(m.texts)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", m.path, m.version, err))
		}
		s.modules = append(s.modules, m)
	}
	return s, errors.Join(wrong...)
}

// source contains a module's folder and the folders of its linked packages.
type source struct {
	version, dir string
	packages     []string
}

// list returns the sources of the program for its platform by module, from the Go tool.
func list(ctx context.Context, root string, info *buildinfo.BuildInfo) (map[string]source, error) {
	env := []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			env = append(env, s.Key+"="+s.Value)
		}
	}
	const columns = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	out, err := output(ctx, root, env, "go", "list", "-deps", "-f", columns, info.Path)
	if err != nil {
		return nil, err
	}
	found := map[string]source{}
	for line := range strings.SplitSeq(out, "\n") {
		if cells := strings.Split(line, "\t"); len(cells) == 4 {
			found[cells[0]] = source{cells[1], cells[2], append(found[cells[0]].packages, cells[3])}
		}
	}
	return found, nil
}

// texts reads the licence files in the packages' folders, and in all their parents in the module.
func (s source) texts() (texts []Text, err error) {
	folders := map[string]bool{}
	for _, dir := range s.packages {
		for ; len(dir) >= len(s.dir) && !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !isLicense.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, s.dir+string(filepath.Separator)))
			texts = append(texts, Text{name, normal(string(content))})
		}
	}
	return texts, nil
}

// normal removes carriage returns, and ends the text with one newline.
func normal(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n") + "\n"
}

const rule = "--------------------------------------------------------------------------------\n"

// notices returns the text that has to accompany a program: its parts with their licences.
// Identical texts appear once.
func (s *software) notices() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains the software below, under the licences that follow the list.\n\n", s.name)
	var order []string
	of := map[string][]string{}
	for _, m := range s.modules {
		fmt.Fprintf(&out, "  %s %s (%s)\n", m.path, m.version, m.license)
		for _, text := range m.texts {
			if of[text.Content] == nil {
				order = append(order, text.Content)
			}
			of[text.Content] = append(of[text.Content], m.path+": "+text.File)
		}
	}
	for _, content := range order {
		fmt.Fprintf(&out, "\n%s%s\n%s\n%s", rule, strings.Join(of[content], "\n"), rule, content)
	}
	return out.Bytes()
}

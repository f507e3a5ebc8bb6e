package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Software describes the modules linked into a program.
type Software struct {
	// Name is the file name, without .exe.
	Name string
	// Go is the Go version, such as go1.26.8.
	Go string
	// Modules are sorted by path. The standard library is the module "std".
	Modules []Module
}

// Module is a module with packages in a program.
type Module struct {
	Path, Version string
	// Sum is the module's hash, as in go.sum.
	Sum string
	// License is the SPDX expression for all its licence files.
	License string
	// Texts are the licence files and notices above its linked packages.
	Texts []Text
}

// Text is a licence file, with its path in the module.
type Text struct{ File, Content string }

// isLicense matches the names of files that have to be distributed.
var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

// Linked returns the modules in a program, with their licences from the module cache. It runs the
// Go tool in root, the project's folder.
func Linked(ctx context.Context, root, binary string) (*Software, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	packages, err := list(ctx, root, info)
	if err != nil {
		return nil, err
	}
	s := &Software{Name: strings.TrimSuffix(filepath.Base(binary), ".exe"), Go: info.GoVersion}
	std, err := standard(ctx, root, info.GoVersion)
	if err != nil {
		return nil, err
	}
	s.Modules = append(s.Modules, std)
	for _, linked := range info.Deps {
		if linked.Replace != nil {
			return nil, fmt.Errorf("%s: %s is replaced by %s", binary, linked.Path, linked.Replace.Path)
		}
		m := Module{Path: linked.Path, Version: linked.Version, Sum: linked.Sum}
		if m.Texts, err = packages[linked.Path].texts(linked.Version); err != nil {
			return nil, fmt.Errorf("%s: %w", linked.Path, err)
		}
		s.Modules = append(s.Modules, m)
	}
	slices.SortFunc(s.Modules, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	var unknown []error
	for i := range s.Modules {
		m := &s.Modules[i]
		if m.License, err = expression(m.Texts); err != nil {
			unknown = append(unknown, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
		}
	}
	return s, errors.Join(unknown...)
}

// sources contains a module's folder and the folders of its linked packages.
type sources struct {
	version, dir string
	packages     []string
}

// list returns the program's packages for its platform, from the Go tool.
func list(ctx context.Context, root string, info *buildinfo.BuildInfo) (map[string]sources, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,Module", info.Path)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			cmd.Env = append(cmd.Env, s.Key+"="+s.Value)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	found := map[string]sources{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		s := found[p.Module.Path]
		s.version, s.dir = p.Module.Version, p.Module.Dir
		s.packages = append(s.packages, p.Dir)
		found[p.Module.Path] = s
	}
}

// texts reads the licence files in the packages' folders, and in all their parents in the module.
func (s sources) texts(version string) ([]Text, error) {
	if s.version != version {
		return nil, fmt.Errorf("%s is linked, but go.mod has %q", version, s.version)
	}
	folders := map[string]bool{}
	for _, dir := range s.packages {
		for ; len(dir) >= len(s.dir) && !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var texts []Text
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		found, err := textsIn(s.dir, dir)
		if err != nil {
			return nil, err
		}
		texts = append(texts, found...)
	}
	return texts, nil
}

func textsIn(module, dir string) ([]Text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []Text
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !isLicense.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(module, path)
		if err != nil {
			return nil, err
		}
		texts = append(texts, Text{filepath.ToSlash(name), normal(string(content))})
	}
	return texts, nil
}

// normal removes carriage returns, and ends the text with one newline.
func normal(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n") + "\n"
}

// standard returns the standard library as a module.
func standard(ctx context.Context, root, version string) (Module, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOROOT")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return Module{}, fmt.Errorf("go env: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) != 2 || words[0] != version {
		return Module{}, fmt.Errorf("the program was built with %s, but this is %s", version, out)
	}
	texts, err := textsIn(words[1], words[1])
	return Module{Path: "std", Version: strings.TrimPrefix(version, "go"), Texts: texts}, err
}

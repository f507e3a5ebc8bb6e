// Package config finds and reads k8sconnect.yaml, reports each fault with its line, and passes its
// settings to the flags of a verb. It also converts the fields that Argo CD ignores.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/choices"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Expected is a value that a guard requires, and the place where it is set.
type Expected struct{ Value, From string }

// Settings holds the settings of a file for one context.
type Settings struct {
	File string
	// Place is the file to which the user can add rules: File, or a file next to the input that does
	// not exist yet. It is empty if there is no such file.
	Place    string
	Contexts []string

	Rules predict.Standing
	// Exclusive lists whose additions a run removes, and from which objects.
	Exclusive    []predict.Choice
	FieldManager string
	AdoptFrom    []string
	Recreate     []string
	Readiness    string
	// Others is warn or refuse, or empty.
	Others string
	// TimeoutFor lists durations, written as in --timeout-for.
	TimeoutFor                   []string
	ExpectContext, ExpectCluster []Expected
}

// keys returns the keys in the order of the documentation.
func keys() []string {
	return []string{"yield", "take", "adoptFrom", "exclusive", "recreate", "fieldManager", "readiness", "timeoutFor", "others", "expect"}
}

// widening reports whether a key may extend what a run takes over or deletes. Such a key is allowed
// only in a file that the user named: whoever wrote the manifests may have put a file next to them.
func widening(key string) bool {
	switch key {
	case "take", "adoptFrom", "exclusive", "recreate", "fieldManager":
		return true
	}
	return false
}

// Parse reads a file for the given context. named means that the user named the file. It reports
// faults in all sections.
func Parse(file string, data []byte, context string, named bool) (*Settings, error) {
	r := &reader{file: file}
	s := &sections{reader: r, named: named, folder: filepath.Dir(file)}
	out := Settings{File: file}
	if root := r.root(data); root != nil {
		all := r.fields(root, "the file", append(keys(), "contexts"))
		s.read(all, &out)
		for _, f := range all {
			if f.name == "contexts" {
				s.contexts(f.value, context, &out)
			}
		}
	}
	return &out, errors.Join(r.faults...)
}

type sections struct {
	*reader
	named  bool
	folder string
}

func (s *sections) contexts(n *yaml.Node, context string, out *Settings) {
	for _, f := range s.fields(n, "contexts", nil) {
		if !text.IsGlob(f.name) || f.name == "" {
			s.fault(f.key, "", "%q is not a pattern: it is empty, has an unclosed or empty bracket, or ends with a backslash", f.name)
			continue
		}
		section := &Settings{} // Sections of other contexts are only checked.
		if text.Glob(f.name, context) {
			section = out
			out.Contexts = append(out.Contexts, f.name)
		}
		s.read(s.fields(f.value, "the section of a context", keys()), section)
	}
}

// read adds the settings of a section to out. It appends to lists and replaces other values.
func (s *sections) read(section []field, out *Settings) {
	for _, f := range section {
		if widening(f.name) && !s.named {
			s.fault(f.key, "name the file with --config="+text.ShellQuote(s.file)+" if you trust it, or ignore it with --config=",
				"%s is allowed only in a file that you name: this file was found next to the input", f.name)
			continue
		}
		switch f.name {
		case "yield":
			out.Rules.Yield = append(out.Rules.Yield, s.rules(f, predict.AnyManager)...)
		case "take":
			out.Rules.Take = append(out.Rules.Take, s.rules(f, "")...)
		case "adoptFrom":
			s.texts(f.name, f.value, func(name string, _ *yaml.Node) { out.AdoptFrom = append(out.AdoptFrom, name) })
		case "exclusive":
			s.exclusive(f, out)
		case "recreate":
			s.texts(f.name, f.value, func(object string, at *yaml.Node) {
				if _, err := predict.ParseObject(object); err != nil {
					s.fault(at, "", "%w", err)
				}
				out.Recreate = append(out.Recreate, object)
			})
		case "fieldManager":
			if name, ok := s.text(f.name, f.value); ok {
				if fault := choices.ManagerFault(name); fault != "" {
					s.fault(f.value, "", "fieldManager %s", fault)
				}
				out.FieldManager = name
			}
		case "readiness":
			s.readiness(f, out)
		case "timeoutFor":
			s.times(f, out)
		case "others":
			if mode, ok := s.text(f.name, f.value); ok {
				if mode != others.Warn && mode != others.Refuse {
					s.fault(f.value, "", "others must be %s or %s, not %q", others.Warn, others.Refuse, mode)
				}
				out.Others = mode
			}
		case "expect":
			s.expect(f, out)
		}
	}
}

// readiness reads the name of a file with readiness rules. If the user did not name the
// configuration file, it may only refer to files in its own folder, because errors quote their
// content.
func (s *sections) readiness(f field, out *Settings) {
	path, ok := s.text(f.name, f.value)
	if !ok {
		return
	}
	if !s.named && !filepath.IsLocal(path) {
		s.fault(f.value, "name this file with --config="+text.ShellQuote(s.file)+" if you trust it",
			"readiness: %s: a file that was found next to the input may only refer to files in its own folder", path)
		return
	}
	if out.Readiness = path; !filepath.IsAbs(path) {
		out.Readiness = filepath.Join(s.folder, path)
	}
}

func (s *sections) times(f field, out *Settings) {
	for _, one := range s.fields(f.value, f.name, nil) {
		most, ok := s.text("the time of "+one.name, one.value)
		if !ok {
			continue
		}
		given := one.name + "=" + most
		switch limits, err := timelimit.Parse([]string{given}); {
		case err != nil || len(limits) != 1:
			s.fault(one.key, `such as namespace: 30m, create: 1m or "job:condition=Complete": 20m`, "must be KIND, CONDITION or KIND:CONDITION with a time, not %s: %s", one.name, most)
		case limits[0].Most == 0:
			s.fault(one.value, "", "the time for %s must be more than 0", one.name)
		default:
			out.TimeoutFor = append(out.TimeoutFor, given)
		}
	}
}

func (s *sections) expect(f field, out *Settings) {
	for _, one := range s.fields(f.value, f.name, []string{"context", "cluster"}) {
		value, ok := s.text(one.name, one.value)
		switch want := (Expected{Value: value, From: s.location(one.key) + ": expect." + one.name}); {
		case !ok:
		case one.name == "cluster":
			out.ExpectCluster = append(out.ExpectCluster, want)
		case !text.IsGlob(value):
			s.fault(one.value, "", "%s is not a pattern: it has an unclosed or empty bracket, or ends with a backslash", value)
		default:
			out.ExpectContext = append(out.ExpectContext, want)
		}
	}
}

// rules reads a list of rules. A rule that names no manager gets the default manager (otherwise).
func (s *sections) rules(f field, otherwise string) []predict.Choice {
	var all []predict.Choice
	for _, item := range s.list(f.name, f.value) {
		item = resolved(item)
		c := predict.Choice{From: s.location(item)}
		var paths []fieldpath.Pattern
		given := s.fields(item, "a rule", []string{"kind", "namespace", "name", "manager", "path"})
		for _, one := range given {
			if one.name == "path" {
				paths = s.paths(one.value)
				continue
			}
			value, ok := s.text(one.name, one.value)
			if ok && !text.IsGlob(value) {
				s.fault(one.value, "", "%s is not a pattern: it has an unclosed or empty bracket, or ends with a backslash", value)
			}
			switch one.name {
			case "kind":
				c.Kind = strings.ToLower(value)
			case "namespace":
				c.Namespace = value
			case "name":
				c.Name = value
			case "manager":
				c.Manager = value
			}
		}
		if has := func(name string) bool {
			for _, one := range given {
				if one.name == name {
					return true
				}
			}
			return false
		}; item.Kind == yaml.MappingNode && !has("path") && !has("manager") {
			s.fault(item, `to select everything that others own, write manager: "*"`, "a rule needs a path or a manager")
			continue
		}
		if c.Manager == "" {
			c.Manager = otherwise
		}
		if len(paths) == 0 {
			paths = []fieldpath.Pattern{nil}
		}
		for _, path := range paths {
			c.Path = path
			all = append(all, c)
		}
	}
	return all
}

func (s *sections) paths(n *yaml.Node) []fieldpath.Pattern {
	var all []fieldpath.Pattern
	read := func(given string, at *yaml.Node) {
		path, err := fieldpath.ParsePattern(given)
		switch {
		case err != nil:
			s.fault(at, "", "%w", err)
		case fieldpath.Path(path).Positional():
			s.fault(at, `such as .spec.template.spec.containers[name="app"].image, or [*] for all items`,
				"%s: list items are identified by key, not by position", path)
		default:
			all = append(all, path)
		}
	}
	if n.Kind == yaml.ScalarNode {
		if given, ok := s.text("path", n); ok {
			read(given, n)
		}
		return all
	}
	s.texts("path", n, read)
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		s.fault(n, "", "path is empty")
	}
	return all
}

// longest is the maximum size of a file in bytes.
const longest = 1 << 20

// find returns the configuration file next to the input; empty if there is none. All inputs must
// share it, because it configures the whole run.
func find(filenames []string, kustomize string) (string, error) {
	if kustomize != "" {
		filenames = []string{kustomize}
	}
	found, without := "", ""
	seen := map[string]bool{}
	for _, name := range filenames {
		if name == "-" || strings.Contains(name, "://") {
			continue
		}
		folder := name
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			if kustomize != "" {
				return "", nil
			}
			folder = filepath.Dir(name)
		}
		file := filepath.Join(folder, manifest.ConfigFile)
		if seen[file] {
			continue
		}
		seen[file] = true
		switch ours, err := isOurs(file); {
		case err != nil:
			return "", err
		case !ours:
			without = name
		case found != "":
			return "", &object.HintedError{Err: fmt.Errorf("%s and %s are both next to the input", found, file), Advice: choose(found)}
		default:
			found = file
		}
	}
	if found != "" && without != "" {
		return "", &object.HintedError{Err: fmt.Errorf("%s is next to part of the input, but not next to %s", found, without), Advice: choose(found)}
	}
	return found, nil
}

func choose(file string) string {
	return "choose one with --config=" + text.ShellQuote(file) + ", or use none with --config="
}

// isOurs reports whether the file exists and is not a manifest. It returns an error if the file
// cannot be read, because the rules in the file must not be ignored.
func isOurs(file string) (bool, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(file); err == nil {
			return false, unfit(file, "a link to something that does not exist", "remove it, or create its target")
		}
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return false, unfit(file, "a folder", orNone)
	case !info.Mode().IsRegular(): // Opening a pipe would wait for a writer.
		return false, unfit(file, "a pipe, a socket or a device", "remove it")
	}
	data, err := read(file)
	if err != nil {
		return false, err
	}
	var top struct {
		APIVersion yaml.Node `yaml:"apiVersion"`
		Kind       yaml.Node `yaml:"kind"`
	}
	_ = yaml.Unmarshal(data, &top)
	return top.APIVersion.IsZero() && top.Kind.IsZero(), nil
}

// orNone is the advice for a folder, or for a file without settings. For a pipe, a socket or a
// device, the advice is only to remove it.
const orNone = "remove it, or ignore it with --config="

func unfit(file, what, advice string) error {
	return &Error{File: file, Err: errors.New("it is " + what + ", not a file with rules"), Advice: advice}
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, longest+1))
	_ = f.Close()
	if err == nil && len(data) > longest {
		err = &Error{File: file, Err: fmt.Errorf("it has more than %d bytes", longest)}
	}
	return data, err
}

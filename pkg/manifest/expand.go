package manifest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const stdin = "-"

func expand(o Options) ([]input, error) {
	if o.Kustomize != "" {
		if len(o.Filenames) > 0 || o.Recursive {
			return nil, &inputError{text: "-k cannot be used with -f or -R"}
		}
		return []input{kustomization(o)}, nil
	}
	if len(o.Filenames) == 0 {
		return nil, &inputError{text: "nothing to read", hint: "pass files with -f, or a kustomization with -k"}
	}
	e := expansion{recursive: o.Recursive, report: o.Report, seen: map[string]bool{}}
	var faults []error
	for _, name := range o.Filenames {
		switch {
		case name == stdin:
			faults = append(faults, e.addStdin(o.In, cmp.Or(o.InName, stdin)))
		case strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://"):
			shown := publicURL(name)
			p := patience{name: shown, what: shown, most: fetchAttempts * fetchTimeout, report: o.Report}
			e.add(name, input{name: shown, open: func(ctx context.Context) ([]byte, error) {
				return p.await(ctx, func(ctx context.Context, h *heard) ([]byte, error) { return fetch(ctx, o.Client, name, h) })
			}})
		default:
			faults = append(faults, e.addPath(name))
		}
	}
	return e.inputs, errors.Join(faults...)
}

type expansion struct {
	recursive bool
	report    func(what string, since time.Time, within time.Duration)
	inputs    []input
	seen      map[string]bool
}

// add appends an input, unless an input with the same key was added before. A user may name both a
// file and the folder that contains it.
func (e *expansion) add(key string, in input) {
	if e.seen[key] {
		return
	}
	e.seen[key] = true
	e.inputs = append(e.inputs, in)
}

func (e *expansion) addStdin(r io.Reader, name string) error {
	if r == nil {
		return &inputError{where: stdin, text: "standard input is not available"}
	}
	p := patience{name: name, what: "standard input", most: longestSilence, report: e.report}
	e.add(stdin, input{name: name, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, func(_ context.Context, h *heard) ([]byte, error) {
			return readAll(name, hearing{r, h}, maxBytes)
		})
	}})
	return nil
}

func (e *expansion) addPath(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		// Like kubectl, expand patterns that the shell did not expand.
		if matches, globErr := filepath.Glob(name); globErr == nil && len(matches) > 0 {
			var faults []error
			for _, match := range matches {
				faults = append(faults, e.addPath(match))
			}
			return errors.Join(faults...)
		}
	}
	switch {
	case name == "":
		return &inputError{text: "-f needs the name of a file"}
	case err != nil:
		return unreadable(name, err)
	case info.IsDir():
		return e.addFolder(name)
	}
	e.add(filepath.Clean(name), e.localFile(name, info))
	return nil
}

func (e *expansion) addFolder(root string) error {
	var faults []error
	found, deeper := false, false
	// The separator makes WalkDir enter the root even if it is a symbolic link.
	err := filepath.WalkDir(root+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			faults = append(faults, unreadable(path, err))
			return nil
		}
		if d.IsDir() {
			if filepath.Clean(path) == filepath.Clean(root) {
				return nil
			}
			deeper = true
			// A mounted ConfigMap keeps its files in a folder "..<time>", with links to them in the
			// parent folder.
			if !e.recursive || strings.HasPrefix(d.Name(), "..") {
				return fs.SkipDir
			}
			return nil
		}
		if !isManifestName(path) {
			return nil
		}
		info, err := os.Stat(path) // Stat follows links, unlike d.
		switch {
		case err != nil:
			faults = append(faults, unreadable(path, err))
		case info.IsDir():
			return nil
		case !info.Mode().IsRegular():
			faults = append(faults, &inputError{where: path, text: "neither a regular file nor a folder"})
		default:
			path = filepath.Clean(path)
			e.add(path, e.localFile(path, info))
		}
		found = true
		return nil
	})
	if !found && len(faults) == 0 {
		hint := ""
		if deeper && !e.recursive {
			hint = "-R also reads its subfolders"
		}
		faults = append(faults, &inputError{where: root, text: "no .yaml, .yml or .json file in this folder", hint: hint})
	}
	return errors.Join(append(faults, err)...)
}

func (e *expansion) localFile(name string, info fs.FileInfo) input {
	read := func(_ context.Context, h *heard) ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		defer func() { _ = f.Close() }()
		return readAll(name, hearing{f, h}, maxBytes)
	}
	p := patience{name: name, what: "the pipe " + name, most: longestSilence, report: e.report}
	in := input{name: name, open: func(ctx context.Context) ([]byte, error) { return p.await(ctx, read) }}
	if info.Mode().IsRegular() {
		in.open = func(ctx context.Context) ([]byte, error) { return read(ctx, &heard{}) }
	}
	return in
}

// kustomization builds a kustomization from a folder or URL, like kubectl's -k. For a URL,
// kustomize calls git. Line numbers in the output do not correspond to any file.
//
// An error from kustomize may quote any file that it read, so the values of Secrets in it must be
// masked.
func kustomization(o Options) input {
	path := o.Kustomize
	build := func(context.Context, *heard) ([]byte, error) {
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionLegacy
		files := &recorder{FileSystem: filesys.MakeFsOnDisk(), files: map[string][]byte{}}
		objects, err := krusty.MakeKustomizer(options).Run(files, path)
		if err != nil {
			return nil, files.fault(path, err, o.Secrets)
		}
		text, err := objects.AsYaml()
		if err != nil {
			return nil, files.fault(path, err, o.Secrets)
		}
		return text, nil
	}
	name := publicURLs(path)
	p := patience{name: name, what: "the kustomization " + name, most: longestSilence, report: o.Report}
	return input{name: name, generated: true, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, build)
	}}
}

// fault returns a kustomize error without secret values. It masks values both before and after it
// joins lines, because a value may span several lines. It also masks URLs, which may contain a
// password or token.
func (r *recorder) fault(path string, err error, secrets Secrets) error {
	r.learn(secrets)
	message := secrets.Text(text.OneLine(secrets.Text(err.Error())))
	hint := ""
	if r.has("helmCharts") {
		hint = "to inflate charts: " + command.Kubectl("kustomize", "--enable-helm", "DIR") + " | " + command.Kubectl("k8sconnect", "apply", "-f", "-")
	}
	return &inputError{where: publicURLs(path), text: publicURLs(message), hint: hint}
}

package manifest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// stdin is the name that stands for standard input.
const stdin = "-"

// expand turns the user's names into inputs, in order; the files of a folder or a pattern come in
// lexical order.
func expand(o Options) ([]input, error) {
	if o.Kustomize != "" {
		if len(o.Filenames) > 0 || o.Recursive {
			return nil, &inputError{text: "-k cannot be used with -f or -R"}
		}
		return []input{kustomization(o)}, nil
	}
	if len(o.Filenames) == 0 {
		return nil, &inputError{text: "nothing to read", hint: "name files with -f, or a kustomization with -k"}
	}
	e := expansion{recursive: o.Recursive, tell: o.Tell, seen: map[string]bool{}}
	var faults []error
	for _, name := range o.Filenames {
		switch {
		case name == stdin:
			faults = append(faults, e.addStdin(o.In))
		case strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://"):
			shown := publicURL(name)
			p := patience{name: shown, what: shown, most: fetchAttempts * fetchTimeout, tell: o.Tell}
			e.addOnce(name, input{name: shown, open: func(ctx context.Context) ([]byte, error) {
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
	tell      func(what string, since time.Time, within time.Duration)
	inputs    []input
	seen      map[string]bool
}

// add appends an input unless it is there: naming a file and its folder is no mistake.
func (e *expansion) add(in input) {
	key := in.name
	if in.name != stdin {
		key = filepath.Clean(in.name)
	}
	e.addOnce(key, in)
}

// addOnce adds an input unless one with the same key was added before.
func (e *expansion) addOnce(key string, in input) {
	if e.seen[key] {
		return
	}
	e.seen[key] = true
	e.inputs = append(e.inputs, in)
}

func (e *expansion) addStdin(r io.Reader) error {
	if r == nil {
		return &inputError{where: stdin, text: "there is no standard input"}
	}
	p := patience{name: stdin, what: "standard input", most: longestSilence, tell: e.tell}
	e.add(input{name: stdin, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, func(_ context.Context, h *heard) ([]byte, error) {
			return readAll(stdin, hearing{r, h}, maxBytes)
		})
	}})
	return nil
}

func (e *expansion) addPath(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		// As kubectl does, expand a pattern that the shell did not expand.
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
		return &inputError{text: "-f names no file"}
	case err != nil:
		return unreadable(name, err)
	case info.IsDir():
		return e.addFolder(name)
	}
	e.add(e.localFile(name, info))
	return nil
}

// addFolder adds the manifests of a folder, ignoring other extensions; a folder without manifests
// is a fault.
func (e *expansion) addFolder(root string) error {
	var faults []error
	found, deeper := false, false
	// The separator makes WalkDir enter a root that is itself a link.
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
			// A mounted ConfigMap keeps its files in a folder "..<time>", with links in its parent.
			if !e.recursive || strings.HasPrefix(d.Name(), "..") {
				return fs.SkipDir
			}
			return nil
		}
		if !isManifestName(path) {
			return nil
		}
		info, err := os.Stat(path) // not d, which does not follow links
		switch {
		case err != nil:
			faults = append(faults, unreadable(path, err))
		case info.IsDir():
			return nil
		case !info.Mode().IsRegular():
			faults = append(faults, &inputError{where: path, text: "neither a file nor a folder"})
		default:
			e.add(e.localFile(filepath.Clean(path), info))
		}
		found = true
		return nil
	})
	if !found && len(faults) == 0 {
		hint := ""
		if deeper && !e.recursive {
			hint = "-R also reads the folders inside it"
		}
		faults = append(faults, &inputError{where: root, text: "no .yaml, .yml or .json file in this folder", hint: hint})
	}
	return errors.Join(append(faults, err)...)
}

// localFile reads a file; a pipe or a device may block.
func (e *expansion) localFile(name string, info fs.FileInfo) input {
	read := func(_ context.Context, h *heard) ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		defer func() { _ = f.Close() }()
		return readAll(name, hearing{f, h}, maxBytes)
	}
	p := patience{name: name, what: "the pipe " + name, most: longestSilence, tell: e.tell}
	in := input{name: name, open: func(ctx context.Context) ([]byte, error) { return p.await(ctx, read) }}
	if info.Mode().IsRegular() {
		in.open = func(ctx context.Context) ([]byte, error) { return read(ctx, &heard{}) }
	}
	return in
}

// kustomization builds a folder (or a URL, for which kustomize calls git) with the options of
// kubectl's -k. Its output is decoded like any file, so values are as in kubectl, but its line
// numbers refer to no file.
//
// An error of kustomize may quote all that it read, so the values of Secrets in it must be masked.
func kustomization(o Options) input {
	path := o.Kustomize
	build := func(context.Context, *heard) ([]byte, error) {
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionLegacy
		files := newRecorder()
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
	p := patience{name: name, what: "the kustomization " + name, most: longestSilence, tell: o.Tell}
	return input{name: name, generated: true, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, build)
	}}
}

// fault explains why a kustomization cannot be built. It masks values before lines are joined and
// again after, because a value may span several lines. URLs, of the argument and of resources, may
// contain a password or a token.
func (r *recorder) fault(path string, err error, secrets Secrets) error {
	r.learn(secrets)
	said := secrets.Text(text.OneLine(secrets.Text(err.Error())))
	hint := ""
	if r.has("helmCharts") {
		hint = "to inflate charts: " + command.Kubectl("kustomize", "--enable-helm", "DIR") + " | " + command.Kubectl("k8sconnect", "apply", "-f", "-")
	}
	return &inputError{where: publicURLs(path), text: publicURLs(said), hint: hint}
}

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// longest is how many bytes a file may have.
const longest = 1 << 20

// find returns the file beside the input; empty if there is none. Beside a file is its
// folder, beside a folder the folder itself; a URL and standard input have no place. A file
// speaks for the whole run, so it has to be beside everything that has a place.
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
			if kustomize != "" { // A repository, most likely.
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
			return "", &object.HintedError{Err: fmt.Errorf("%s and %s are both beside the input", found, file), Advice: choose(found)}
		default:
			found = file
		}
	}
	if found != "" && without != "" {
		return "", &object.HintedError{Err: fmt.Errorf("%s is beside a part of the input, and not beside %s", found, without), Advice: choose(found)}
	}
	return found, nil
}

func choose(file string) string {
	return "name the one that counts with --config=" + text.ShellQuote(file) + ", or use none with --config="
}

// isOurs reports whether there is a file, and it is none that Kubernetes is to have. Rules that
// cannot be read are not the same as none, so whatever else has that name is a fault.
func isOurs(file string) (bool, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(file); err == nil {
			return false, unfit(file, "a link to something that does not exist", "remove it, or make what it points to")
		}
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return false, unfit(file, "a folder", orNone)
	case !info.Mode().IsRegular(): // Opening a pipe waits for a writer.
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
	_ = yaml.Unmarshal(data, &top) // A text that is not YAML is ours: Parse reports its fault.
	return top.APIVersion.IsZero() && top.Kind.IsZero(), nil
}

// orNone is advice about what is no manifest. Not about a pipe, say: without a file of rules, the
// folder is still read with all that is in it.
const orNone = "remove it, or use none with --config="

func unfit(file, what, advice string) error {
	return &Error{File: file, Err: errors.New("it is " + what + ", and not a file with rules"), Advice: advice}
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

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// place returns the file that find would find if it existed; empty if the input has more than one
// folder, or none, or if the file contains something else.
func place(filenames []string, kustomize string) string {
	if kustomize != "" {
		filenames = []string{kustomize}
	}
	only := ""
	for _, name := range filenames {
		if name == "-" || strings.Contains(name, "://") {
			continue
		}
		folder := name
		switch info, err := os.Stat(name); {
		case err != nil:
			return ""
		case !info.IsDir():
			folder = filepath.Dir(name)
		}
		file := filepath.Join(folder, manifest.ConfigFile)
		if only != "" && only != file {
			return ""
		}
		only = file
	}
	if _, err := os.Lstat(only); only == "" || !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return only
}

// Yield adds a rule that yields paths of an object to the content of a file, which may be empty. It
// returns the rule and its line. An empty namespace stands for any. The rest of the file stays as
// written.
func Yield(file string, data []byte, ref object.Ref, paths []string) (edited []byte, line int, written string, err error) {
	one := rule{Kind: ref.GVK.Kind, Namespace: escape(ref.Namespace), Name: escape(ref.Name), Path: paths}
	if ref.GVK.Group != "" {
		one.Kind += "." + ref.GVK.Group
	}
	if len(paths) == 1 {
		one.Path = paths[0]
	}
	var node yaml.Node
	if err := node.Encode(one); err != nil {
		return nil, 0, "", err
	}
	node.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&node)
	if err != nil {
		return nil, 0, "", err
	}
	written = strings.TrimSpace(string(text))
	if edited, line, err = yamldoc.AddItem(data, "yield", written); err != nil {
		return nil, 0, written, err
	}
	_, err = Parse(file, edited, "", true)
	return edited, line, written, err
}

// escape returns a pattern that matches only the name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

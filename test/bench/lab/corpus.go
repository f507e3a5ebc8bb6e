package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// EnvCorpus names the folder of real manifests.
const EnvCorpus = "CORPUS"

// RealSets are the sets that are measured.
func RealSets() []string {
	return []string{"microservices-demo", "argocd", "kube-prometheus", "rook", "metallb"}
}

// partOf names the files of a set that is not applied whole, since it has examples that
// exclude one another, and objects of kinds that others define.
func partOf(set string) []string {
	switch set {
	case "rook": // what installs its operator
		return []string{"deploy/examples/crds.yaml", "deploy/examples/common.yaml", "deploy/examples/csi-operator.yaml", "deploy/examples/operator.yaml"}
	case "metallb":
		return []string{"config/manifests/metallb-frr-k8s.yaml"}
	}
	return nil
}

// Corpus returns the folder of real manifests, or an error that says that there
// is none.
func Corpus() (string, error) {
	dir := os.Getenv(EnvCorpus)
	if dir == "" {
		dir = filepath.FromSlash("../shared/corpus") // beside the project
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		return "", fmt.Errorf("no real manifests: %s is not there (%s names its folder)", filepath.Join(filepath.Base(dir), "INDEX.md"), EnvCorpus)
	}
	return dir, nil
}

// FromCorpus is a sample of one of its sets.
func FromCorpus(corpus, set string) (Sample, error) {
	dir := filepath.Join(corpus, set)
	paths := []string{dir}
	if part := partOf(set); part != nil {
		paths = nil
		for _, file := range part {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	args := []string{"-R"}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		more, err := readFolder(path)
		if err != nil {
			return Sample{}, fmt.Errorf("%s: %w", set, err)
		}
		objects, args = append(objects, more...), append(args, "-f", path)
	}
	return Sample{
		Title:   fmt.Sprintf("%s (%d objects)", set, len(objects)),
		Args:    func(int) ([]string, error) { return args, nil },
		Objects: func(int) ([]*unstructured.Unstructured, error) { return objects, nil },
		Foreign: true,
	}, nil
}

func readFolder(dir string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		more, err := Decode(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		objects = append(objects, more...)
		return nil
	})
	if err == nil && len(objects) == 0 {
		err = errors.New("no objects")
	}
	return objects, err
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// peerDoes reports whether one of the peers knows how to do a work.
func peerDoes(tool, work string) bool {
	switch work {
	case workCreate, workAgain, workDelete:
		return true
	case workDiff:
		return tool == toolFlux
	}
	return false
}

// peerWorks are the works that tools are compared at with -peers.
func peerWorks() []string { return []string{workCreate, workAgain, workDiff, workDelete} }

// fluxLine is the call by which Flux's library does a work. It gets the objects as Flux
// gets them from a Kustomization that has been built: each with its namespace.
func fluxLine(p *lab.Plot, program, work string) ([]string, error) {
	objects, err := settledObjects(p)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.Lab.Dir, "flux.yaml")
	verb := map[string]string{workCreate: "apply", workAgain: "apply", workDiff: "diff", workDelete: "delete"}[work]
	return []string{program, verb, path}, writeStream(path, objects)
}

// settled are the sample's objects with their namespaces.
func settledObjects(p *lab.Plot) ([]*unstructured.Unstructured, error) {
	order, members, err := p.Collections()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, c := range order {
		for _, u := range members[c] {
			u = u.DeepCopy()
			u.SetNamespace(c.Namespace)
			objects = append(objects, u)
		}
	}
	return objects, nil
}

const (
	release = "bench" // in the namespace of the plot
	// helmPatience is longer than Helm's own, which is for one object.
	helmPatience = "9m"
	chart        = "apiVersion: v2\nname: bench\nversion: 1.0.0\n"
	// rendering has the objects as they are: they are no templates.
	rendering = `{{ .Files.Get "objects.yaml" }}`
)

// helmLine is the call by which Helm does a work on a chart of the objects. Definitions
// are where charts have them; Helm neither changes them again nor deletes them.
func helmLine(p *lab.Plot, program, work string) ([]string, error) {
	namespace := p.Namespace
	if namespace == "" {
		namespace = "default"
	}
	dir := filepath.Join(p.Lab.Dir, "chart")
	flags := []string{"-n", namespace, "--timeout=" + helmPatience}
	switch work {
	case workDelete:
		return append([]string{program, "uninstall", release, "--wait"}, flags...), nil
	case workAgain:
		return append([]string{program, "upgrade", release, dir}, flags...), nil
	default:
		return append([]string{program, "install", release, dir}, flags...), writeChart(p, dir)
	}
}

func writeChart(p *lab.Plot, dir string) error {
	objects, err := p.Sample.Objects(p.Version)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, folder := range []string{"templates", "crds"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	var definitions, others []*unstructured.Unstructured
	for _, u := range objects {
		if u.GetKind() == lab.DefinitionKind {
			definitions = append(definitions, u)
		} else {
			others = append(others, u)
		}
	}
	for path, text := range map[string]string{"Chart.yaml": chart, "templates/objects.yaml": rendering} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for i, u := range definitions {
		if err := writeStream(filepath.Join(dir, "crds", fmt.Sprintf("%03d.yaml", i)), []*unstructured.Unstructured{u}); err != nil {
			return err
		}
	}
	return writeStream(filepath.Join(dir, "objects.yaml"), others)
}

// writeStream writes objects as a stream of documents.
func writeStream(path string, objects []*unstructured.Unstructured) error {
	var out bytes.Buffer
	for _, u := range objects {
		text, err := json.Marshal(u.Object)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "---\n%s\n", text)
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

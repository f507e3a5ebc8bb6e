package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	ordering "github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// The tools' names in the table, which are also their user names.
const (
	toolPlugin  = "k8sconnect"
	toolKubectl = "kubectl"
	toolRaw     = "raw"  // the limit: sends prepared requests only
	toolFlux    = "flux" // its library for server-side apply
	toolHelm    = "helm" // a chart of the same objects
)

// tool is a measured tool.
type tool struct {
	name  string
	works []string // supported works, in an order in which each prepares the next
	// argv returns the command for a work on the plot's current manifests.
	argv func(p *plot, work string) ([]string, error)
}

// allTools returns the tools that can be measured.
func (o options) allTools() []tool {
	peers := []string{workCreate, workAgain, workDelete}
	return []tool{
		{toolPlugin, allWorks(), func(p *plot, work string) ([]string, error) { return commandLine(p, o.plugin, work), nil }},
		{toolKubectl, allWorks(), func(p *plot, work string) ([]string, error) {
			return commandLine(p, p.lab.cluster.Binary("kubectl"), work, "--server-side"), nil
		}},
		{toolRaw, allWorks()[1:], rawLine},
		{toolFlux, []string{workCreate, workAgain, workDiff, workDelete}, func(p *plot, work string) ([]string, error) { return fluxLine(p, o.flux, work) }},
		{toolHelm, peers, func(p *plot, work string) ([]string, error) { return helmLine(p, o.helm, work) }},
	}
}

func (o options) chosen() []tool {
	return slices.DeleteFunc(o.allTools(), func(t tool) bool { return !slices.Contains(o.tools, t.name) })
}

// commandLine returns the command of kubectl, which the plugin also accepts. Only kubectl needs
// applyFlags.
func commandLine(p *plot, program, work string, applyFlags ...string) []string {
	argv := []string{program}
	switch work {
	case workStart:
		return append(argv, "version", "--client")
	case workWait:
		return append(argv, "wait", p.sample.kind, "--all", "-n", p.namespace, "--timeout=9m", "--for="+condition(p.sample.kind))
	case workDelete:
		argv = append(argv, "delete")
	case workDiff:
		argv = append(append(argv, "diff"), applyFlags...)
	case workSet, workSetAgain, workPrune:
		argv = append(append(argv, "apply", "--prune", "--applyset=bench"), applyFlags...)
	default:
		argv = append(append(argv, "apply"), applyFlags...)
	}
	argv = append(argv, p.now.args...)
	if p.namespace != "" {
		argv = append(argv, "-n", p.namespace)
	}
	return argv
}

func rawLine(p *plot, work string) ([]string, error) {
	waves, err := rawWaves(p, work)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(waves)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.lab.dir, "requests.json")
	return []string{self, verbRaw, path}, os.WriteFile(path, text, 0o644)
}

// rawWaves returns the raw client's requests for a work: one LIST for each collection, and one
// request for each object to write.
func rawWaves(p *plot, work string) ([]wave, error) {
	if work == workCreate || work == workSet {
		return inOrder(p)
	}
	order, members, err := p.collections()
	if err != nil {
		return nil, err
	}
	var lists, writes, holders, gone wave
	kept := len(p.now.objects)
	for _, c := range order {
		lists = append(lists, rawRequest{Method: http.MethodGet, Path: c.path(), Pages: len(members[c]) > page})
		for i, u := range members[c] {
			path := c.path() + "/" + u.GetName()
			switch {
			case work == workDelete && (u.GetKind() == "Namespace" || u.GetKind() == definitionKind):
				// Other objects block its deletion, which is slow.
				holders = append(holders, rawRequest{Method: http.MethodDelete, Path: path})
				gone = append(gone, rawRequest{Method: http.MethodGet, Path: path, Until: untilGone})
			case work == workDelete, work == workPrune && i >= kept:
				writes = append(writes, rawRequest{Method: http.MethodDelete, Path: path})
			case work == workChange && u != p.sample.whole.objects[i]:
				patch, err := patchOf(c, u)
				if err != nil {
					return nil, err
				}
				writes = append(writes, patch)
			}
		}
	}
	if work == workDelete {
		return []wave{writes, holders, gone}, nil
	}
	return []wave{lists, writes}, nil
}

// inOrder creates the objects in the plugin's order and with its waits: a phase begins after the
// previous one, once the definitions that it needs are established. So the difference is the
// plugin's own cost.
func inOrder(p *plot) ([]wave, error) {
	options := ordering.Options{Namespace: p.namespace, Kinds: map[schema.GroupVersionKind]object.Kind{}}
	manifests := make([]object.Manifest, len(p.now.objects))
	for i, u := range p.now.objects {
		c, err := p.collectionOf(u)
		if err != nil {
			return nil, err
		}
		gvk := u.GroupVersionKind()
		options.Kinds[gvk] = object.Kind{GVK: gvk, Resource: c.resource.Resource, Namespaced: c.namespace != ""}
		manifests[i].Object = u
	}
	ordered, err := ordering.Build(manifests, options)
	if err != nil {
		return nil, err
	}
	var waves []wave
	established := map[object.Key]rawRequest{} // waits for definitions that are in no wave yet
	for _, phase := range ordered.Phases {
		var waits, patches wave
		for _, item := range phase.Items {
			for _, need := range item.Needs {
				if wait, ok := established[need]; ok {
					waits = append(waits, wait)
					delete(established, need)
				}
			}
			c, err := p.collectionOf(item.Object)
			if err != nil {
				return nil, err
			}
			patch, err := patchOf(c, item.Object)
			if err != nil {
				return nil, err
			}
			patches = append(patches, patch)
			if item.Object.GetKind() == definitionKind {
				established[item.Key()] = rawRequest{Method: http.MethodGet, Path: c.path() + "/" + item.Object.GetName(), Until: untilEstablished}
			}
		}
		waves = append(waves, waits, patches)
	}
	return waves, nil
}

// patchOf returns a forced apply of an object.
func patchOf(c collection, u *unstructured.Unstructured) (rawRequest, error) {
	body, err := json.Marshal(u)
	return rawRequest{Method: http.MethodPatch, Path: c.path() + "/" + u.GetName() + "?fieldManager=raw&force=true", Body: body}, err
}

// fluxLine returns the command for Flux's library. As in a built Kustomization, each object has its
// namespace.
func fluxLine(p *plot, program, work string) ([]string, error) {
	order, members, err := p.collections()
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, c := range order {
		for _, u := range members[c] {
			u = u.DeepCopy()
			u.SetNamespace(c.namespace)
			all = append(all, u)
		}
	}
	path := filepath.Join(p.lab.dir, "flux.yaml")
	verb := map[string]string{workCreate: "apply", workAgain: "apply", workDiff: "diff", workDelete: "delete"}[work]
	return []string{program, verb, path}, writeStream(path, all)
}

// helmLine returns the Helm command for a work on a chart of the objects. Its timeout is longer
// than Helm's default.
func helmLine(p *plot, program, work string) ([]string, error) {
	namespace := p.namespace
	if namespace == "" {
		namespace = "default"
	}
	dir := filepath.Join(p.lab.dir, "chart")
	flags := []string{"-n", namespace, "--timeout=9m"}
	switch work {
	case workDelete:
		return append([]string{program, "uninstall", "bench", "--wait"}, flags...), nil
	case workAgain:
		return append([]string{program, "upgrade", "bench", dir}, flags...), nil
	default:
		return append([]string{program, "install", "bench", dir}, flags...), writeChart(p, dir)
	}
}

// writeChart writes a chart of the objects that renders them unchanged. Definitions go into crds/,
// which Helm neither updates nor deletes.
func writeChart(p *plot, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, folder := range []string{"templates", "crds"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	var definitions, others []*unstructured.Unstructured
	for _, u := range p.now.objects {
		if u.GetKind() == definitionKind {
			definitions = append(definitions, u)
		} else {
			others = append(others, u)
		}
	}
	for path, text := range map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: bench\nversion: 1.0.0\n",
		"templates/objects.yaml": `{{ .Files.Get "objects.yaml" }}`,
	} {
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

// writeStream writes objects as a YAML stream.
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

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
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

// chosen returns the tools to measure.
func (o options) chosen() []tool {
	bin := func(name string) string { return filepath.Join(o.bin, name) }
	all := []tool{
		{toolPlugin, allWorks(), func(p *plot, work string) ([]string, error) {
			return commandLine(p, bin("kubectl-k8sconnect"), work), nil
		}},
		{toolKubectl, slices.DeleteFunc(allWorks(), isConfirmed), func(p *plot, work string) ([]string, error) {
			// Binary("kubectl") would be a client of a process that runs kubectl's commands for tests.
			kubectl := filepath.Join(filepath.Dir(p.lab.cluster.Binary("etcd")), "kubectl")
			return commandLine(p, kubectl, work, "--server-side"), nil
		}},
		{toolRaw, slices.DeleteFunc(allWorks()[1:], isConfirmed), rawLine},
		{toolFlux, []string{workCreate, workAgain, workDiff, workDelete}, func(p *plot, work string) ([]string, error) { return fluxLine(p, bin("peers"), work) }},
		{toolHelm, []string{workCreate, workAgain, workDelete}, func(p *plot, work string) ([]string, error) { return helmLine(p, bin("helm"), work) }},
	}
	return slices.DeleteFunc(all, func(t tool) bool { return !slices.Contains(o.tools, t.name) })
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
	case workConfirm, workOutright:
		argv = append(argv, "apply", "--confirm="+p.reviewed())
	default:
		argv = append(append(argv, "apply"), applyFlags...)
	}
	argv = append(argv, p.now...)
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
	var lists, writes, holders, gone wave
	order, members := p.collections()
	for _, c := range order {
		list := rawRequest{Method: http.MethodGet, Path: c.path(), Pages: len(members[c]) > page}
		if p.sample.across {
			list = rawRequest{Method: http.MethodGet, Path: collection{resource: c.resource}.path(), Pages: true}
		}
		if !slices.ContainsFunc(lists, func(other rawRequest) bool { return other.Path == list.Path }) {
			lists = append(lists, list)
		}
		for i, item := range members[c] {
			path := c.path() + "/" + item.Name
			switch {
			case work == workDelete && (item.GVK.Kind == "Namespace" || item.GVK.Kind == definitionKind):
				// Other objects block its deletion, which is slow.
				holders = append(holders, rawRequest{Method: http.MethodDelete, Path: path})
				gone = append(gone, rawRequest{Method: http.MethodGet, Path: path, Until: untilGone})
			case work == workDelete, work == workPrune && i >= p.sample.kept:
				writes = append(writes, rawRequest{Method: http.MethodDelete, Path: path})
			case work == workChange && i < len(p.sample.changes), work == workRewrite:
				changed := p.sample.changes
				if work == workRewrite {
					changed = p.sample.rewrites
				}
				patch, err := patchOf(c, changed[i])
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
	var waves []wave
	established := map[object.Key]rawRequest{} // waits for definitions that are in no wave yet
	for _, phase := range p.sample.plan.Phases {
		var waits, patches wave
		for _, item := range phase.Items {
			for _, need := range item.Needs {
				if wait, ok := established[need]; ok {
					waits = append(waits, wait)
					delete(established, need)
				}
			}
			c := p.collectionOf(item)
			patch, err := patchOf(c, item.Object)
			if err != nil {
				return nil, err
			}
			patches = append(patches, patch)
			if item.GVK.Kind == definitionKind {
				established[item.Key()] = rawRequest{Method: http.MethodGet, Path: c.path() + "/" + item.Name, Until: untilEstablished}
			}
		}
		waves = append(waves, waits, patches)
	}
	return waves, nil
}

// patchOf returns a forced apply of an object. The path has its namespace.
func patchOf(c collection, u *unstructured.Unstructured) (rawRequest, error) {
	u = u.DeepCopy()
	u.SetNamespace("")
	body, err := json.Marshal(u)
	return rawRequest{Method: http.MethodPatch, Path: c.path() + "/" + u.GetName() + "?fieldManager=raw&force=true", Body: body}, err
}

// fluxLine returns the command for Flux's library. As in a built Kustomization, each object has its
// namespace.
func fluxLine(p *plot, program, work string) ([]string, error) {
	var all []*unstructured.Unstructured
	for item := range p.sample.plan.Items() {
		u := item.Object.DeepCopy()
		u.SetNamespace(p.collectionOf(item).namespace)
		all = append(all, u)
	}
	path := filepath.Join(p.lab.dir, "flux.yaml")
	verb := map[string]string{workCreate: "apply", workAgain: "apply", workDiff: "diff", workDelete: "delete"}[work]
	return []string{program, verb, path}, os.WriteFile(path, stream(all), 0o644)
}

// helmLine returns the Helm command for a work on a chart of the objects. Its timeout is longer
// than Helm's default.
func helmLine(p *plot, program, work string) ([]string, error) {
	dir := filepath.Join(p.lab.dir, "chart")
	flags := []string{"-n", cmp.Or(p.namespace, "default"), "--timeout=9m"}
	switch work {
	case workDelete:
		return append([]string{program, "uninstall", "bench", "--wait"}, flags...), nil
	case workAgain:
		return append([]string{program, "upgrade", "bench", dir}, flags...), nil
	}
	return append([]string{program, "install", "bench", dir}, flags...), writeChart(p, dir)
}

// writeChart writes a chart of the objects that renders them unchanged. Definitions go into crds/,
// which Helm neither updates nor deletes.
func writeChart(p *plot, dir string) error {
	var definitions, others []*unstructured.Unstructured
	for _, u := range p.sample.objects {
		if u.GetKind() == definitionKind {
			definitions = append(definitions, u)
		} else {
			others = append(others, u)
		}
	}
	files := map[string][]byte{
		"Chart.yaml":             []byte("apiVersion: v2\nname: bench\nversion: 1.0.0\n"),
		"templates/objects.yaml": []byte(`{{ .Files.Get "objects.yaml" }}`),
		"objects.yaml":           stream(others),
	}
	if len(definitions) > 0 { // Helm does not accept an empty file.
		files["crds/crds.yaml"] = stream(definitions)
	}
	err := os.RemoveAll(dir)
	for path, text := range files {
		path = filepath.Join(dir, path)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
	}
	return err
}

// stream returns objects as a YAML stream. Objects that were read as YAML can be written as JSON.
func stream(objects []*unstructured.Unstructured) []byte {
	var out bytes.Buffer
	for _, u := range objects {
		text, _ := u.MarshalJSON()
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes()
}

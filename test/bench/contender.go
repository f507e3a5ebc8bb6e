package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// The works that are measured.
const (
	workCreate = "create"
	workAgain  = "again"            // apply again, nothing changed
	workChange = "change"           // apply again, some changed
	workDryRun = "dry run"          // of applying again, nothing changed
	workDiff   = "diff"             // diff, nothing changed
	workWait   = "wait"             // for a condition that is already met
	workReady  = "wait until ready" // which they become meanwhile: from the last of it on
	workDelete = "delete"           // by manifest
	// workNamespace deletes the namespace that they are in. It takes a control plane
	// with controllers.
	workNamespace = "delete namespace"
	workStuck     = "stuck" // -A, of what a webhook that is down keeps from going
	// workStalled waits for objects of which some hang, until the first cause is
	// reported.
	workStalled = "first cause"
	// workCrowd is several works on one object, where the server serves many kinds.
	workCrowd = "many kinds"
	// workSet creates them as a set, workSetAgain applies that again with nothing changed, and
	// workPrune without a tenth of them, which is deleted.
	workSet      = "create a set"
	workSetAgain = "set again"
	workPrune    = "prune a tenth"
)

// setWorks are done one after the other on a plot of their own.
func setWorks() []string { return []string{workSet, workSetAgain, workPrune} }

// The tools, as the table calls them.
const (
	toolPlugin  = "k8sconnect"
	toolKubectl = "kubectl"
	toolPatch   = "raw PATCH" // the limit of a client that sends everything
	toolLook    = "raw LIST"  // the limit of a client that reads first, and sends what changed
	toolFlux    = "Flux"      // its library for server-side apply
	toolHelm    = "Helm"      // a chart of the same objects
)

// contender works on a plot of its own. The raw client does a work in two ways, one after
// the other.
type contender struct {
	name  string // its user's name
	tools []string
	// argv is the call with which a tool does a work on a plot, as it is now.
	argv func(p *lab.Plot, tool, work string, workers int) ([]string, error)
}

// does reports whether a tool knows how to do a work.
func does(tool, work string) bool {
	if tool == toolFlux || tool == toolHelm {
		return peerDoes(tool, work)
	}
	switch work {
	case workCreate, workDelete, workSet:
		return tool != toolLook
	case workWait, workPrune:
		return tool != toolPatch
	case workStuck, workStalled:
		return tool == toolPlugin
	case workCrowd:
		return false
	case workNamespace, workReady:
		return tool != toolLook && tool != toolPatch
	default:
		return true
	}
}

// allTools are the names of the contenders.
func allTools() []string { return []string{"k8sconnect", "kubectl", "raw", "flux", "helm"} }

// contenders returns those that are chosen, by name.
func contenders(o options) []contender {
	all := []contender{
		{"k8sconnect", []string{toolPlugin}, func(p *lab.Plot, _, work string, _ int) ([]string, error) {
			return commandLine(p, o.plugin, work)
		}},
		{"kubectl", []string{toolKubectl}, func(p *lab.Plot, _, work string, _ int) ([]string, error) {
			return commandLine(p, p.Lab.Cluster.Binary("kubectl"), work, "--server-side")
		}},
		{"raw", []string{toolPatch, toolLook}, rawArgv},
		{"flux", []string{toolFlux}, func(p *lab.Plot, _, work string, _ int) ([]string, error) {
			return fluxLine(p, o.flux, work)
		}},
		{"helm", []string{toolHelm}, func(p *lab.Plot, _, work string, _ int) ([]string, error) {
			return helmLine(p, o.helm, work)
		}},
	}
	return slices.DeleteFunc(all, func(c contender) bool { return !slices.Contains(o.tools, c.name) })
}

func commandLine(p *lab.Plot, program, work string, flags ...string) ([]string, error) {
	argv := []string{program, "apply"}
	switch work {
	case workStuck:
		return []string{program, "stuck", "-A", "-o", "json"}, nil
	case workNamespace:
		return []string{program, "delete", "namespace", p.Namespace}, nil
	case workDelete:
		argv[1], flags = "delete", nil
	case workWait:
		return waitLine(p, program, p.Sample.Condition), nil
	case workStalled:
		return []string{program, "wait", p.Sample.Kind, "--all", "-n", p.Namespace, "--timeout=" + stalledFor, "--fail-on-cause=", "-o", "stream"}, nil
	case workReady:
		return waitLine(p, program, "condition=Available"), nil
	case workDiff:
		argv[1] = "diff"
	case workDryRun:
		argv = append(argv, "--dry-run=server")
	}
	read := p.Sample.Args
	switch work {
	case workSet, workSetAgain, workPrune:
		// The same for both: kubectl's flag is known to the plugin, and its environment allows it.
		flags = append(slices.Clone(flags), "--prune", "--applyset=bench")
	}
	if work == workPrune {
		read = p.Sample.Rest
	}
	files, err := read(p.Version)
	argv = slices.Concat(argv, flags, files)
	if p.Namespace != "" {
		argv = append(argv, "-n", p.Namespace)
	}
	return argv, err
}

// waitLine waits for all objects of a generated sample.
func waitLine(p *lab.Plot, program, condition string) []string {
	return []string{program, "wait", p.Sample.Kind, "--all", "-n", p.Namespace, "--timeout=9m", "--for=" + condition}
}

func rawArgv(p *lab.Plot, tool, work string, workers int) ([]string, error) {
	requests, err := rawRequestsOf(p, tool, work)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.Lab.Dir, "requests.json")
	return []string{self, verbRaw, strconv.Itoa(workers), path}, lab.WriteRequests(path, requests)
}

// requests are those by which the raw client does a work.
func rawRequestsOf(p *lab.Plot, tool, work string) ([]lab.RawRequest, error) {
	if tool == toolPatch && work == workCreate && p.Sample.Foreign {
		return p.InOrder()
	}
	order, members, err := p.Collections()
	if err != nil {
		return nil, err
	}
	var gets, patches []lab.RawRequest
	for _, c := range order {
		gets = append(gets, lab.RawRequest{Method: http.MethodGet, Path: c.Path(), Pages: len(members[c]) > lab.RawPage})
		for i, u := range members[c] {
			if work == workPrune {
				if i >= len(members[c])-p.Sample.Leaving {
					patches = append(patches, lab.RawRequest{Method: http.MethodDelete, Path: c.Path() + "/" + u.GetName(), Wave: 1})
				}
				continue
			}
			if tool == toolLook && (work != workChange || i >= p.Sample.Changed) {
				continue // it is as the manifest says
			}
			if work == workDelete {
				patches = append(patches, lab.Removal(c, u)...)
				continue
			}
			patch, err := p.Patch(c, u, work == workDiff || work == workDryRun)
			if err != nil {
				return nil, err
			}
			patches = append(patches, patch)
		}
	}
	if tool == toolLook {
		return lab.InWaves(append(gets, patches...)), nil
	}
	return lab.InWaves(patches), nil
}

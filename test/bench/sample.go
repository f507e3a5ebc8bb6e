package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	ordering "github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// sample is a set of manifests that the tools work on.
type sample struct {
	title string
	kind  string // of generated objects
	count int    // of generated objects; 0 for a real set
	// The flags with which kubectl and the plugin read the manifests: changed has 1 % of the objects
	// changed, rewritten all, and fewer lacks the last tenth.
	whole, changed, rewritten, fewer []string
	objects                          []*unstructured.Unstructured
	changes                          []*unstructured.Unstructured // the first objects, as changed has them
	rewrites                         []*unstructured.Unstructured // all objects, as rewritten has them
	kept                             int                          // objects in fewer
	across                           bool                         // the limit reads each kind in all namespaces at once
	plan                             *ordering.Plan               // the objects in the plugin's order
}

// foreign reports whether the manifests are not generated: the resulting objects are then compared
// with those of another tool.
func (s sample) foreign() bool { return s.count == 0 }

// planned adds the plan.
func (s sample) planned() (_ sample, err error) {
	manifests := make([]object.Manifest, len(s.objects))
	for i, u := range s.objects {
		manifests[i].Object = u
	}
	s.plan, err = ordering.Build(manifests, ordering.Options{Kinds: ordering.BuiltinKinds(manifests), LastWins: true})
	return s, err
}

// texts are manifests as people write them: no protocol beside a port, no defaults,
// quantities in their short form.
//
//go:embed manifests
var texts embed.FS

func generatedKinds() []string { return []string{"ConfigMap", "Deployment"} }

// condition returns a condition that each generated object meets once it exists.
func condition(kind string) string {
	return map[string]string{"ConfigMap": "jsonpath={.data.version}", "Deployment": "jsonpath={.spec.replicas}=2"}[kind]
}

// generated writes a sample of one kind into files in dir.
func generated(dir, kind string, count int) (s sample, err error) {
	s = sample{title: thousands(count) + " " + kind + "s", kind: kind, count: count, kept: count - max(1, count/10)}
	if count == 1 {
		s.title = "1 " + kind
	}
	changes := max(1, count/100)
	whole, changed, rewritten := rendered(kind, 0, count, 0), rendered(kind, 0, changes, 1), rendered(kind, 0, count, 2)
	file := func(name string, stream []byte) []string {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.yaml", kind, count, name))
		err = errors.Join(err, os.WriteFile(path, stream, 0o644))
		return []string{"-f", path}
	}
	s.whole, s.fewer = file("whole", whole), file("fewer", rendered(kind, 0, s.kept, 0))
	s.rewritten = file("rewritten", rewritten)
	s.changed = file("changed", append(changed, rendered(kind, changes, count, 0)...))
	if err != nil {
		return s, err
	}
	if s.objects, err = decode(whole); err != nil {
		return s, err
	}
	if s.changes, err = decode(changed); err != nil {
		return s, err
	}
	if s.rewrites, err = decode(rewritten); err != nil {
		return s, err
	}
	return s.planned()
}

// rendered returns objects of a kind as YAML, from one number up to another.
func rendered(kind string, from, to, version int) []byte {
	t := template.Must(template.ParseFS(texts, "manifests/"+strings.ToLower(kind)+".yaml"))
	var out bytes.Buffer
	for i := from; i < to; i++ {
		_ = t.Execute(&out, map[string]any{"Name": fmt.Sprintf("bench-%05d", i), "Version": version, "Apps": []string{"web", "api", "worker"}}) // into memory
	}
	return out.Bytes()
}

// envCorpus is the variable with the folder of real manifests.
const envCorpus = "CORPUS"

// sets returns the sets that --set can name: those of the corpus, and a generated cluster.
func sets() []string { return append(realSets(), "platform") }

func realSets() []string {
	return []string{"microservices-demo", "argocd", "kube-prometheus", "rook", "metallb"}
}

// partOf returns the files to apply of a set. Some sets contain alternative examples, and objects
// of kinds that others define.
func partOf(set string) []string {
	switch set {
	case "rook": // what installs its operator
		return []string{"deploy/examples/crds.yaml", "deploy/examples/common.yaml", "deploy/examples/csi-operator.yaml", "deploy/examples/operator.yaml"}
	case "metallb":
		return []string{"config/manifests/metallb-frr-k8s.yaml"}
	}
	return []string{"."}
}

// realSamples returns sets of the corpus or, without a corpus, a small application.
func realSamples(dir string, sets []string, note func(format string, args ...any)) ([]sample, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	var samples []sample
	if i := slices.Index(sets, "platform"); i >= 0 {
		s, err := team(dir)
		if samples, sets = append(samples, s), slices.Delete(slices.Clone(sets), i, i+1); err != nil || len(sets) == 0 {
			return samples, err
		}
	}
	corpus := os.Getenv(envCorpus)
	if corpus == "" {
		corpus = "../shared/corpus" // next to the project
	}
	if _, err := os.Stat(filepath.Join(corpus, "INDEX.md")); err != nil {
		note("no real manifests (%s names their folder): used a sample of our own", envCorpus)
		s, err := shop(dir)
		return append(samples, s), err
	}
	for _, set := range sets {
		var paths []string
		for _, part := range partOf(set) {
			paths = append(paths, filepath.Join(corpus, set, part))
		}
		s, err := foreign(set, paths...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set, err)
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// foreign returns a sample of manifests in files or folders.
func foreign(title string, paths ...string) (s sample, err error) {
	s.whole = []string{"-R"}
	for _, path := range paths {
		s.whole = append(s.whole, "-f", path)
	}
	s.objects, err = objectsOf(reader().FilenameParam(false, &resource.FilenameOptions{Filenames: paths, Recursive: true}))
	if err != nil {
		return s, err
	}
	s.title = fmt.Sprintf("%s (%d objects)", title, len(s.objects))
	return s.planned()
}

// shop is a small application, used if there is no corpus.
func shop(dir string) (sample, error) {
	const services = 12
	var all []byte
	for _, kind := range []string{"ServiceAccount", "ConfigMap", "Service", "Deployment"} {
		all = append(all, rendered(kind, 0, services, 0)...)
	}
	path := filepath.Join(dir, "shop.yaml")
	if err := os.WriteFile(path, all, 0o644); err != nil {
		return sample{}, err
	}
	return foreign("sample shop", path)
}

// platform is the title of the cluster of a platform team: many namespaces with few objects of each kind.
const platform = "a cluster (5,400 objects in 300 namespaces)"

func team(dir string) (sample, error) {
	const teams = 300
	path := filepath.Join(dir, "platform.yaml")
	if err := os.WriteFile(path, rendered("Team", 0, teams, 0), 0o644); err != nil {
		return sample{}, err
	}
	s, err := foreign("", path)
	s.title, s.across = platform, true
	return s, err
}

// decode returns the objects of a YAML stream, and the items of its lists.
func decode(stream []byte) ([]*unstructured.Unstructured, error) {
	return objectsOf(reader().Stream(bytes.NewReader(stream), "manifests"))
}

func reader() *resource.Builder { return resource.NewLocalBuilder().Unstructured() }

func objectsOf(b *resource.Builder) (objects []*unstructured.Unstructured, err error) {
	infos, err := b.Flatten().Do().Infos()
	for _, info := range infos {
		objects = append(objects, info.Object.(*unstructured.Unstructured))
	}
	return objects, err
}

// thousands shows a number with commas.
func thousands(n int) string { return message.NewPrinter(language.English).Sprintf("%d", n) }

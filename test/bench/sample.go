package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// sample is a set of manifests that the tools work on.
type sample struct {
	title string
	kind  string // of generated objects
	count int    // of generated objects; 0 for a real set
	// changed has 1 % of the objects changed, and fewer lacks the last tenth.
	whole, changed, fewer manifests
}

// foreign reports whether the manifests are not generated: the resulting objects are then compared
// with those of another tool.
func (s sample) foreign() bool { return s.count == 0 }

// manifests are objects, and the flags with which kubectl and the plugin read them.
type manifests struct {
	args    []string
	objects []*unstructured.Unstructured
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
	changes, rest := max(1, count/100), count-max(1, count/10)
	render := func(from, to, version int) (stream []byte) {
		more, renderErr := rendered(kind, from, to, version)
		err = errors.Join(err, renderErr)
		return more
	}
	whole, changed, kept := render(0, count, 0), render(0, changes, 1), render(0, rest, 0)
	objects, decodeErr := decode(whole)
	others, changedErr := decode(changed)
	if err := errors.Join(err, decodeErr, changedErr); err != nil {
		return s, err
	}
	s = sample{title: thousands(count) + " " + kind + "s", kind: kind, count: count}
	if count == 1 {
		s.title = "1 " + kind
	}
	file := func(name string, stream []byte, objects []*unstructured.Unstructured) manifests {
		m, writeErr := written(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.yaml", kind, count, name)), stream, objects)
		err = errors.Join(err, writeErr)
		return m
	}
	s.whole = file("whole", whole, objects)
	s.changed = file("changed", append(changed, render(changes, count, 0)...), append(others, objects[changes:]...))
	s.fewer = file("fewer", kept, objects[:rest])
	return s, err
}

// rendered returns objects of a kind as YAML, from one number up to another.
func rendered(kind string, from, to, version int) ([]byte, error) {
	t, err := template.ParseFS(texts, "manifests/"+strings.ToLower(kind)+".yaml")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i := from; i < to; i++ {
		if err := t.Execute(&out, map[string]any{"Name": fmt.Sprintf("bench-%05d", i), "Version": version}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// written writes a stream of manifests with these objects to a file.
func written(path string, stream []byte, objects []*unstructured.Unstructured) (manifests, error) {
	return manifests{[]string{"-f", path}, objects}, os.WriteFile(path, stream, 0o644)
}

// envCorpus is the variable with the folder of real manifests.
const envCorpus = "CORPUS"

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
	corpus, err := filepath.Abs(os.Getenv(envCorpus))
	if os.Getenv(envCorpus) == "" {
		corpus, err = filepath.Abs("../shared/corpus") // next to the project
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(corpus, "INDEX.md")); err != nil {
		note("no real manifests (%s names their folder): used a sample of our own", envCorpus)
		s, err := shop(dir)
		return []sample{s}, err
	}
	var samples []sample
	for _, set := range sets {
		whole := manifests{args: []string{"-R"}}
		for _, part := range partOf(set) {
			path := filepath.Join(corpus, set, filepath.FromSlash(part))
			objects, err := objectsOf(reader().FilenameParam(false, &resource.FilenameOptions{Filenames: []string{path}, Recursive: true}))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", set, err)
			}
			whole.objects, whole.args = append(whole.objects, objects...), append(whole.args, "-f", path)
		}
		samples = append(samples, sample{title: fmt.Sprintf("%s (%d objects)", set, len(whole.objects)), whole: whole})
	}
	return samples, nil
}

// shop is a small application, used if there is no corpus.
func shop(dir string) (sample, error) {
	const services = 12
	var stream []byte
	for _, kind := range []string{"ServiceAccount", "ConfigMap", "Service", "Deployment"} {
		more, err := rendered(kind, 0, services, 0)
		if err != nil {
			return sample{}, err
		}
		stream = append(stream, more...)
	}
	objects, err := decode(stream)
	if err != nil {
		return sample{}, err
	}
	whole, err := written(filepath.Join(dir, "shop.yaml"), stream, objects)
	return sample{title: fmt.Sprintf("sample shop (%d objects)", len(objects)), whole: whole}, err
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

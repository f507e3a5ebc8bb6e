package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// sample is a set of manifests that the tools work on.
type sample struct {
	title string
	// args read the manifests, at a version, for kubectl and the plugin alike.
	args func(version int) ([]string, error)
	// objects are what the manifests say at that version, in their order.
	objects func(version int) ([]*unstructured.Unstructured, error)
	// changed is how many objects differ from one version to the next; 0 if there
	// is one version only.
	changed int
	// foreign manifests are not ours: the server's result is compared with its result for
	// another tool, and not with the manifests.
	foreign bool
	// kind is that of a generated sample, and condition one that every object of it
	// meets as soon as it is there, as --for takes it.
	kind, condition string
	// defines: it defines kinds, which do not go away without a trace, so it needs a
	// control plane of its own. held is how many of its objects are stuck once they are
	// deleted.
	defines bool
	held    int
	// leaving is how many of its objects, the last, are not in what rest reads.
	leaving int
	rest    func(version int) ([]string, error)
	// stalled is how many of its objects hang while the others are ready.
	stalled int
}

// The manifests are as people write them: no protocol beside a port, no
// defaults, quantities in their short form.
const (
	configMapText = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{.Name}}
  labels:
    app.kubernetes.io/name: {{.Name}}
    app.kubernetes.io/part-of: bench
data:
  version: "{{.Version}}"
  log.level: info
  app.conf: |
    # Settings of {{.Name}}
    listen = 0.0.0.0:8080
    workers = 4
    upstream = http://{{.Name}}-backend.bench.svc:8080/api
    timeout = 30s
    retries = 3
  rules.json: |
    {"rules": [
      {"match": "/static/*", "cache": "24h"},
      {"match": "/api/*", "cache": "none", "limit": 100},
      {"match": "/*", "redirect": "/index.html"}
    ]}
`
	deploymentText = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{.Name}}
  labels:
    app.kubernetes.io/name: {{.Name}}
    app.kubernetes.io/part-of: bench
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/name: {{.Name}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{.Name}}
      annotations:
        prometheus.io/scrape: "true"
    spec:
      serviceAccountName: default
      containers:
      - name: app
        image: registry.example/app:1.{{.Version}}
        args: ["--listen=:8080", "--name={{.Name}}"]
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LOG_LEVEL
          value: info
        - name: PASSWORD
          valueFrom:
            secretKeyRef:
              name: {{.Name}}
              key: password
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /ready
            port: http
          periodSeconds: 5
        volumeMounts:
        - name: config
          mountPath: /etc/app
      volumes:
      - name: config
        configMap:
          name: {{.Name}}
`
	serviceText = `apiVersion: v1
kind: Service
metadata:
  name: {{.Name}}
spec:
  selector:
    app.kubernetes.io/name: {{.Name}}
  ports:
  - name: http
    port: 80
    targetPort: http
`
	accountText = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{.Name}}
`
)

// generated is a sample of one kind, whose versions are written to dir on demand. Of a
// thousand objects, ten change with the version.
func generated(dir, kind string, count int) (sample, error) {
	texts := map[string]string{"ConfigMap": configMapText, "Deployment": deploymentText}
	text, ok := texts[kind]
	if !ok {
		return sample{}, fmt.Errorf("no samples of kind %q: there are ConfigMap and Deployment", kind)
	}
	changed := max(1, count/100)
	title := fmt.Sprintf("%s %ss", thousands(count), kind)
	if count == 1 {
		title = "1 " + kind
	}
	condition := map[string]string{"ConfigMap": "jsonpath={.data.version}", "Deployment": "jsonpath={.spec.replicas}=2"}[kind]
	first := func(count int) func(out *bytes.Buffer, version int) error {
		return func(out *bytes.Buffer, version int) error {
			return render(out, text, count, func(i int) int {
				if i < changed {
					return version
				}
				return 0
			})
		}
	}
	const tenth = 10
	leaving := max(1, count/tenth)
	rest, err := written(dir, sample{title: title + " but " + thousands(leaving)}, first(count-leaving))
	if err != nil {
		return sample{}, err
	}
	return written(dir, sample{title: title, changed: changed, kind: kind, condition: condition, leaving: leaving, rest: rest.args}, first(count))
}

// shop is a small application, for where there is no corpus.
func shop(dir string) (sample, error) {
	const services = 12
	s := sample{title: "sample shop (48 objects)"}
	return written(dir, s, func(out *bytes.Buffer, _ int) error {
		for _, text := range []string{accountText, configMapText, serviceText, deploymentText} {
			if err := render(out, text, services, func(int) int { return 0 }); err != nil {
				return err
			}
		}
		return nil
	})
}

// render writes count objects; version says at which version the i-th is.
func render(out *bytes.Buffer, text string, count int, version func(i int) int) error {
	t, err := template.New("manifest").Parse(text)
	if err != nil {
		return err
	}
	for i := range count {
		out.WriteString("---\n")
		values := struct {
			Name    string
			Version int
		}{fmt.Sprintf("bench-%05d", i), version(i)}
		if err := t.Execute(out, values); err != nil {
			return err
		}
	}
	return nil
}

// written completes a sample whose text write writes.
func written(dir string, s sample, write func(out *bytes.Buffer, version int) error) (sample, error) {
	// Only the last version is requested repeatedly.
	var last []*unstructured.Unstructured
	lastVersion := -1
	s.objects = func(version int) ([]*unstructured.Unstructured, error) {
		if version == lastVersion {
			return last, nil
		}
		var out bytes.Buffer
		if err := write(&out, version); err != nil {
			return nil, err
		}
		read, err := decode(out.Bytes())
		if err == nil {
			last, lastVersion = read, version
		}
		return read, err
	}
	s.args = func(version int) ([]string, error) {
		var out bytes.Buffer
		if err := write(&out, version); err != nil {
			return nil, err
		}
		name := strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "").Replace(s.title)
		path := filepath.Join(dir, fmt.Sprintf("%s-v%d.yaml", name, version))
		return []string{"-f", path}, os.WriteFile(path, out.Bytes(), 0o644)
	}
	return s, nil
}

// decode reads the objects of a YAML stream; lists are taken apart.
func decode(stream []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(append([]byte("\n"), stream...), []byte("\n---")) {
		// The line's end belongs to the document: a block scalar may end there.
		content, err := yaml.YAMLToJSON(append(bytes.Clone(document), '\n'))
		if err != nil {
			return nil, err
		}
		if string(content) == "null" {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(content); err != nil {
			return nil, err
		}
		if !u.IsList() {
			objects = append(objects, u)
			continue
		}
		err = u.EachListItem(func(item runtime.Object) error {
			objects = append(objects, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// thousands shows a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

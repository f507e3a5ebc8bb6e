package lab

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

// Sample is a set of manifests that the tools work on.
type Sample struct {
	Title string
	// Args read the manifests, at a version, for kubectl and the plugin alike.
	Args func(version int) ([]string, error)
	// Objects are what the manifests say at that version, in their order.
	Objects func(version int) ([]*unstructured.Unstructured, error)
	// Changed is how many objects differ from one version to the next; 0 if there
	// is one version only.
	Changed int
	// Foreign manifests are not ours: the server's result is compared with its result for
	// another tool, and not with the manifests.
	Foreign bool
	// Kind is that of a generated sample, and condition one that every object of it
	// meets as soon as it is there, as --for takes it.
	Kind, Condition string
	// Defines: it defines kinds, which do not go away without a trace, so it needs a
	// control plane of its own. held is how many of its objects are stuck once they are
	// deleted.
	Defines bool
	Held    int
	// Leaving is how many of its objects, the last, are not in what rest reads.
	Leaving int
	Rest    func(version int) ([]string, error)
	// Stalled is how many of its objects hang while the others are ready.
	Stalled int
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

// Generated is a sample of one kind, whose versions are written to dir on demand. Ten objects in a
// thousand change with the version.
func Generated(dir, kind string, count int) (Sample, error) {
	texts := map[string]string{"ConfigMap": configMapText, "Deployment": deploymentText}
	text, ok := texts[kind]
	if !ok {
		return Sample{}, fmt.Errorf("no samples of kind %q: there are ConfigMap and Deployment", kind)
	}
	changed := max(1, count/100)
	title := fmt.Sprintf("%s %ss", Thousands(count), kind)
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
	rest, err := Written(dir, Sample{Title: title + " but " + Thousands(leaving)}, first(count-leaving))
	if err != nil {
		return Sample{}, err
	}
	return Written(dir, Sample{Title: title, Changed: changed, Kind: kind, Condition: condition, Leaving: leaving, Rest: rest.Args}, first(count))
}

// Shop is a small application, for where there is no corpus.
func Shop(dir string) (Sample, error) {
	const services = 12
	s := Sample{Title: "sample shop (48 objects)"}
	return Written(dir, s, func(out *bytes.Buffer, _ int) error {
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

// Written completes a sample whose text write writes.
func Written(dir string, s Sample, write func(out *bytes.Buffer, version int) error) (Sample, error) {
	// Only the last version is requested repeatedly.
	var last []*unstructured.Unstructured
	lastVersion := -1
	s.Objects = func(version int) ([]*unstructured.Unstructured, error) {
		if version == lastVersion {
			return last, nil
		}
		var out bytes.Buffer
		if err := write(&out, version); err != nil {
			return nil, err
		}
		read, err := Decode(out.Bytes())
		if err == nil {
			last, lastVersion = read, version
		}
		return read, err
	}
	s.Args = func(version int) ([]string, error) {
		var out bytes.Buffer
		if err := write(&out, version); err != nil {
			return nil, err
		}
		name := strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "").Replace(s.Title)
		path := filepath.Join(dir, fmt.Sprintf("%s-v%d.yaml", name, version))
		return []string{"-f", path}, os.WriteFile(path, out.Bytes(), 0o644)
	}
	return s, nil
}

// Decode reads the objects of a YAML stream; lists are taken apart.
func Decode(stream []byte) ([]*unstructured.Unstructured, error) {
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

// Thousands shows a number with commas.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// GeneratedKinds are those of which there are generated samples.
func GeneratedKinds() []string { return []string{"ConfigMap", "Deployment"} }

package manifest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// deployment returns a manifest of typical size.
func deployment(i int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%[1]d
  namespace: bench
  labels:
    app.kubernetes.io/name: web-%[1]d
    app.kubernetes.io/part-of: shop
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: web-%[1]d
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web-%[1]d
    spec:
      containers:
      - name: app
        image: registry.example.com/app:1.2.3
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: POD
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
        livenessProbe:
          httpGet:
            path: /healthz
            port: http
`, i)
}

func BenchmarkRead10000(b *testing.B) {
	const n = 10000
	var stream, list bytes.Buffer
	dir := b.TempDir()
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range n {
		text := deployment(i)
		stream.WriteString("---\n" + text)
		list.WriteString("- " + string(bytes.TrimSpace(bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\n  ")))) + "\n")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, o := range map[string]func() Options{
		"file":  func() Options { return fromStdin(&stream) },
		"list":  func() Options { return fromStdin(&list) },
		"files": func() Options { return Options{Filenames: []string{dir}} },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var res Result
			for b.Loop() {
				var err error
				res, err = Read(b.Context(), o())
				if err != nil || len(res.Objects) != n {
					b.Fatal(len(res.Objects), err)
				}
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-kept")
			runtime.KeepAlive(res)
		})
	}
}

func fromStdin(text *bytes.Buffer) Options {
	return Options{Filenames: []string{"-"}, In: io.Reader(bytes.NewReader(text.Bytes()))}
}

// The sets contain CRDs of thousands of lines, dashboards, scripts and small objects.
func BenchmarkCorpus(b *testing.B) {
	dir := corpus(b)
	for _, set := range []string{"argocd", "kube-prometheus", "rook", "metallb"} {
		b.Run(set, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, _ := Read(b.Context(), Options{Filenames: []string{filepath.Join(dir, set)}, Recursive: true, SkipNonObjects: true})
				if len(res.Objects) == 0 {
					b.Fatal("no object")
				}
			}
		})
	}
}

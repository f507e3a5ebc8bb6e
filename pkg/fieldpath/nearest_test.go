package fieldpath_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestNearest(t *testing.T) {
	object := fieldstest.Read(t, `
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/name: web}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: app, image: "app:1", ports: [{containerPort: 80}]}
      - {name: side, image: "side:1"}
`)
	tests := map[string]struct{ path, want string }{
		"a missing letter":    {".spec.replica", ".spec.replicas"},
		"another case":        {".spec.Replicas", ".spec.replicas"},
		"only the last part":  {".replicas", ".spec.replicas"},
		"a missing part":      {`.spec.containers[name="side"].image`, `.spec.template.spec.containers[name="side"].image`},
		"another key":         {`.spec.template.spec.containers[name="apps"].image`, `.spec.template.spec.containers[name="app"].image`},
		"part of a key":       {`.spec.template.spec.containers[name="app"].ports[containerPort=80].containerPort`, `.spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"].containerPort`},
		"dots without quotes": {".metadata.labels.app.kubernetes.io/name", `.metadata.labels["app.kubernetes.io/name"]`},
		"a path above":        {".spec.replicas.x", ""},
		"a path below":        {".status", ""},
		"something else":      {".spec.strategy.type", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := fieldpath.ParsePath(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := p.Nearest(fieldpath.ManifestPaths(object.Object))
			if got.String() != tt.want || ok != (tt.want != "") {
				t.Errorf("Nearest(%s) = %s, %v, want %q", tt.path, got, ok, tt.want)
			}
		})
	}
}

// Edge case 4: a position in a path is replaced with the key of the item at that position.
func TestByKey(t *testing.T) {
	object := fieldstest.Read(t, `
data: {"0": a}
metadata: {finalizers: [example.com/x]}
spec:
  containers: [{name: a}, {name: b, ports: [{containerPort: 80, name: http}]}]
  ports: [{name: dns, port: 53, protocol: UDP}]
`)
	for text, want := range map[string]string{
		".spec.containers[1]":                      `.spec.containers[name="b"]`,
		".spec.containers[1].ports[0].name":        `.spec.containers[name="b"].ports[containerPort=80,protocol="TCP"].name`,
		`.spec.containers[name="b"].ports[0].name`: `.spec.containers[name="b"].ports[containerPort=80,protocol="TCP"].name`,
		".spec.ports[0].port":                      `.spec.ports[port=53,protocol="UDP"].port`,
		".metadata.finalizers[0]":                  `.metadata.finalizers[="example.com/x"]`,
		".data[0]":                                 ".data.0",
		".spec.containers[7].image":                "",
		".spec.containers[0].image":                "",
	} {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.ByKey(object.Object); got.String() != want || ok != (want != "") || !p.Positional() {
			t.Errorf("ByKey(%s) = %s, %v, want %q", text, got, ok, want)
		}
	}
}

package preflight_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// An unchanged object may lack an image that was just pushed.
func TestKeptImage(t *testing.T) {
	for name, c := range map[string]struct {
		containers  string
		kept, moves bool
	}{
		"a word":                     {`[{name: a, image: web:dev}]`, true, true},
		"with a registry and a port": {`[{name: a, image: "localhost:5001/web:main"}]`, true, true},
		"a snapshot":                 {`[{name: a, image: "web:1.2.3-SNAPSHOT"}]`, true, true},
		"latest, kept on purpose":    {`[{name: a, image: web, imagePullPolicy: IfNotPresent}]`, true, true},
		"latest is pulled":           {`[{name: a, image: "localhost:5001/web"}]`, false, false},
		"it is pulled":               {`[{name: a, image: web:dev, imagePullPolicy: Always}]`, false, false},
		"never pulled":               {`[{name: a, image: web:dev, imagePullPolicy: Never}]`, false, false},
		"a digest":                   {`[{name: a, image: "web:dev@sha256:ab"}]`, false, false},
		"a full version":             {`[{name: a, image: "web:v1.2.3"}]`, false, false},
		"with what it is built on":   {`[{name: a, image: "web:1.2.3-alpine"}]`, false, false},
		"a commit":                   {`[{name: a, image: "web:main-3f2a9c1"}]`, false, false},
		"a whole commit":             {`[{name: a, image: "web:9fceb02d0ae598e95dc970b74767f19372d61af8"}]`, false, false},
		"a date":                     {`[{name: a, image: "web:nightly-20260102"}]`, false, false},
		"a part of a version":        {`[{name: a, image: "nginx:1.25"}]`, true, false},
		"a number":                   {`[{name: a, image: "web:v1"}]`, true, false},
		"the second one moves":       {`[{name: a, image: "web:v1"}, {name: b, image: web:dev}]`, true, true},
		"the first one moves":        {`[{name: a, image: "web:dev"}, {name: b, image: web:v1}]`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := diagnosetest.Read(t, web("containers: "+c.containers))[0]
			if k, kept := preflight.KeptImage(u); kept != c.kept || k.Moves != c.moves {
				t.Errorf("kept %v %+v, want %v, moves %v", kept, k, c.kept, c.moves)
			}
		})
	}
	if _, kept := preflight.KeptImage(diagnosetest.Read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")[0]); kept {
		t.Error("a ConfigMap has an image")
	}
}

// There is one remark, however many objects there are. If something else changed, only
// tags that are meant to move are worth one.
func TestImagesMayBeOld(t *testing.T) {
	version := preflight.Kept{Image: "nginx:1.25"}
	version.Ref.Name = "proxy"
	word := preflight.Kept{Image: "web:dev", Moves: true}
	word.Ref.Name = "web"
	if _, told := preflight.ImagesMayBeOld([]preflight.Kept{version}, false); told {
		t.Error("told of a version although something changed")
	}
	r, told := preflight.ImagesMayBeOld([]preflight.Kept{version, version, word}, true)
	if !told || !strings.Contains(r.Text, "/web and 2 more objects are unchanged") || !strings.Contains(r.Text, "if web:dev was pushed again") {
		t.Errorf("told %v: %+v", told, r)
	}
	if r, _ := preflight.ImagesMayBeOld([]preflight.Kept{version, word}, false); strings.Contains(r.Text, "more") {
		t.Errorf("told %+v", r)
	}
}

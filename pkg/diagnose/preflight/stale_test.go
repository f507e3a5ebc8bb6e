package preflight_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// An unchanged object may run an image that is older than the one that was just pushed.
func TestKeptImage(t *testing.T) {
	for name, c := range map[string]struct {
		containers string
		kept       bool
	}{
		"a word as the tag":                  {`[{name: a, image: web:dev}]`, true},
		"with a registry and a port":         {`[{name: a, image: "localhost:5001/web:main"}]`, true},
		"a snapshot":                         {`[{name: a, image: "web:1.2.3-SNAPSHOT"}]`, true},
		"latest, kept on purpose":            {`[{name: a, image: web, imagePullPolicy: IfNotPresent}]`, true},
		"latest is pulled":                   {`[{name: a, image: "localhost:5001/web"}]`, false},
		"pull policy Always":                 {`[{name: a, image: web:dev, imagePullPolicy: Always}]`, false},
		"never pulled":                       {`[{name: a, image: web:dev, imagePullPolicy: Never}]`, false},
		"a placeholder of ko":                {`[{name: a, image: "ko://example.com/lamp/cmd/controller"}]`, false},
		"placeholders of another tool":       {`[{name: a, image: "bazel://cmd/web:main", imagePullPolicy: IfNotPresent}]`, false},
		"an image beside a placeholder":      {`[{name: a, image: "ko://example.com/cmd/web"}, {name: b, image: web:dev}]`, true},
		"a digest":                           {`[{name: a, image: "web:dev@sha256:ab"}]`, false},
		"a full version":                     {`[{name: a, image: "web:v1.2.3"}]`, false},
		"a version with a base image suffix": {`[{name: a, image: "web:1.2.3-alpine"}]`, false},
		"a commit":                           {`[{name: a, image: "web:main-3f2a9c1"}]`, false},
		"a whole commit":                     {`[{name: a, image: "web:9fceb02d0ae598e95dc970b74767f19372d61af8"}]`, false},
		"a date":                             {`[{name: a, image: "web:nightly-20260102"}]`, false},
		"a part of a version":                {`[{name: a, image: "nginx:1.25"}]`, false},
		"a number":                           {`[{name: a, image: "web:v1"}]`, false},
		"the second image has a moving tag":  {`[{name: a, image: "web:v1"}, {name: b, image: web:dev}]`, true},
		"the first image has a moving tag":   {`[{name: a, image: "web:dev"}, {name: b, image: web:v1}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := diagnosetest.Read(t, web("containers: "+c.containers))[0]
			if k, kept := preflight.KeptImage(u); kept != c.kept {
				t.Errorf("kept %v %+v, want %v", kept, k, c.kept)
			}
		})
	}
	if _, kept := preflight.KeptImage(diagnosetest.Read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")[0]); kept {
		t.Error("KeptImage() found an image in a ConfigMap")
	}
}

// There is only one remark for any number of objects.
func TestImagesMayBeOld(t *testing.T) {
	if r, reported := preflight.ImagesMayBeOld(nil); reported {
		t.Errorf("remark without an object: %+v", r)
	}
	web, zoo := preflight.Kept{Image: "web:dev"}, preflight.Kept{Image: "zoo:main"}
	web.Ref.Name, zoo.Ref.Name = "web", "zoo"
	r, reported := preflight.ImagesMayBeOld([]preflight.Kept{zoo, web, zoo})
	if !reported || !strings.Contains(r.Text, "/web and 2 more objects are unchanged") || !strings.Contains(r.Text, "if web:dev was pushed again") {
		t.Errorf("got a remark: %v, %+v; want one that names web and counts 2 more objects", reported, r)
	}
	if r, _ := preflight.ImagesMayBeOld([]preflight.Kept{web}); strings.Contains(r.Text, "more") {
		t.Errorf("got remark %+v, want it to name web only", r)
	}
}

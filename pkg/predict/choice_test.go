package predict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestParseChoice(t *testing.T) {
	tests := map[string]struct {
		text             string
		kind, name, path string
		wrong            bool
	}{
		"path alone":             {text: ".spec.replicas", path: ".spec.replicas"},
		"without leading dot":    {text: "spec.replicas", path: ".spec.replicas"},
		"everything":             {text: "all"},
		"everything of one":      {text: "deployment.apps/web:all", kind: "deployment.apps", name: "web"},
		"one object":             {text: "deployment.apps/web:.spec.replicas", kind: "deployment.apps", name: "web", path: ".spec.replicas"},
		"one object, no dot":     {text: "deployment/web:spec.replicas", kind: "deployment", name: "web", path: ".spec.replicas"},
		"kind as people write":   {text: "Deployment/web:.spec", kind: "deployment", name: "web", path: ".spec"},
		"name with colons":       {text: "clusterrole/system:node-reader:.rules", kind: "clusterrole", name: "system:node-reader", path: ".rules"},
		"list item":              {text: `deployment/web:.spec.template.spec.containers[name="app"].image`, kind: "deployment", name: "web", path: `.spec.template.spec.containers[name="app"].image`},
		"key with slash":         {text: `.metadata.labels["app.kubernetes.io/name"]`, path: `.metadata.labels["app.kubernetes.io/name"]`},
		"object, key with slash": {text: `service/web:.metadata.labels["example.com/a:b"]`, kind: "service", name: "web", path: `.metadata.labels["example.com/a:b"]`},
		"no path":                {text: "deployment/web", wrong: true},
		"no name":                {text: "deployment/:.spec", wrong: true},
		"namespace in it":        {text: "deployment/prod/web:.spec", wrong: true},
		"broken path":            {text: ".spec[", wrong: true},
		"nothing":                {text: "", wrong: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := ParseChoice(tt.text)
			if tt.wrong {
				if err == nil {
					t.Fatalf("ParseChoice(%q) = %v, want an error", tt.text, c)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind != tt.kind || c.Name != tt.name || c.Path.String() != tt.path {
				t.Errorf("ParseChoice(%q) = %q %q %q", tt.text, c.Kind, c.Name, c.Path)
			}
			again, err := ParseChoice(c.String())
			if err != nil || again.String() != c.String() {
				t.Errorf("%q does not survive: %v, %v", c, again, err)
			}
		})
	}
}

func TestChoiceNames(t *testing.T) {
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "prod", Name: "web"}
	for text, want := range map[string]bool{
		".spec":                    true,
		"deployment/web:.spec":     true,
		"deployments/web:.spec":    true,
		"deployment.apps/web:all":  true,
		"deployments.apps/web:all": true,
		"deployment.batch/web:all": false,
		"deployment/api:.spec":     false,
		"statefulset/web:.spec":    false,
	} {
		c, err := ParseChoice(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Names(web, "deployments"); got != want {
			t.Errorf("%s names %s: %v, want %v", text, web, got, want)
		}
	}
}

func TestSplitList(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               nil,
		".spec.replicas":                 {".spec.replicas"},
		" .a , .b,":                      {".a", ".b"},
		`.p[port=53,protocol="UDP"], .b`: {`.p[port=53,protocol="UDP"]`, ".b"},
		`.a["x,y"],.b['],']`:             {`.a["x,y"]`, ".b['],']"},
		`.a["x\",y"],.b`:                 {`.a["x\",y"]`, ".b"},
	} {
		if diff := cmp.Diff(want, splitList(text)); diff != "" {
			t.Errorf("splitList(%q): %s", text, diff)
		}
	}
}

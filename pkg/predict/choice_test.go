package predict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestParseChoices(t *testing.T) {
	tests := map[string]struct {
		text  string
		want  []string // "KIND NAMESPACE NAME PATH" of each
		wrong bool
	}{
		"only a path":                 {text: ".spec.replicas", want: []string{"   .spec.replicas"}},
		"without leading dot":         {text: "spec.replicas", want: []string{"   .spec.replicas"}},
		"everything":                  {text: "all", want: []string{"   "}},
		"all of an object":            {text: "deployment.apps/web:all", want: []string{"deployment.apps  web "}},
		"one object":                  {text: "deployment.apps/web:.spec.replicas", want: []string{"deployment.apps  web .spec.replicas"}},
		"one object, no dot":          {text: "deployment/web:spec.replicas", want: []string{"deployment  web .spec.replicas"}},
		"kind as people write":        {text: "Deployment/web:.spec", want: []string{"deployment  web .spec"}},
		"in a namespace":              {text: "deployment.apps/prod/web:.spec", want: []string{"deployment.apps prod web .spec"}},
		"name with colons":            {text: "clusterrole/system:node-reader:.rules", want: []string{"clusterrole  system:node-reader .rules"}},
		"list item":                   {text: `deployment/web:.spec.template.spec.containers[name="app"].image`, want: []string{`deployment  web .spec.template.spec.containers[name="app"].image`}},
		"key with slash":              {text: `.metadata.labels["app.kubernetes.io/name"]`, want: []string{`   .metadata.labels["app.kubernetes.io/name"]`}},
		"slash without quotes":        {text: `.metadata.labels.app.kubernetes.io/name`, want: []string{`   .metadata.labels.app.kubernetes["io/name"]`}},
		"object, key with slash":      {text: `service/web:.metadata.labels["example.com/a:b"]`, want: []string{`service  web .metadata.labels["example.com/a:b"]`}},
		"several paths":               {text: ".a,.b", want: []string{"   .a", "   .b"}},
		"several paths of one object": {text: `service/web:.p[port=53,protocol="UDP"], .b`, want: []string{`service  web .p[port=53,protocol="UDP"]`, "service  web .b"}},
		"several objects":             {text: "service/a/b:.c,secret/d:all", want: []string{"service a b .c", "secret  d "}},
		"a kind":                      {text: "ValidatingWebhookConfiguration:.webhooks[*].clientConfig.caBundle", want: []string{"validatingwebhookconfiguration   .webhooks[*].clientConfig.caBundle"}},
		"all of a kind":               {text: "deployment.apps:all", want: []string{"deployment.apps   "}},
		"globs":                       {text: "*.example.com/team-*/web*:.spec", want: []string{"*.example.com team-* web* .spec"}},
		"a manager":                   {text: "manager=kube-controller-manager", want: []string{"   @kube-controller-manager"}},
		"a manager's path":            {text: "manager=kube-controller-manager:.spec.replicas", want: []string{"   @kube-controller-manager.spec.replicas"}},
		"all of a manager":            {text: "manager=system:node:all", want: []string{"   @system:node"}},
		"a manager in a kind":         {text: "deploy:manager=*-autoscaler:.spec.replicas", want: []string{"deploy   @*-autoscaler.spec.replicas"}},
		"manager of one object":       {text: "deploy/a/web:manager=x,.spec", want: []string{"deploy a web @x", "deploy a web .spec"}},
		"quoted manager name":         {text: `manager="a:.b, c":.spec`, want: []string{"   @a:.b, c.spec"}},
		"no manager":                  {text: "manager=", wrong: true},
		"no manager, a path":          {text: "manager=:.spec", wrong: true},
		"malformed glob":              {text: "manager=[a:.spec", wrong: true},
		"no path":                     {text: "deployment/web", wrong: true},
		"no name":                     {text: "deployment/:.spec", wrong: true},
		"no namespace":                {text: "deployment//web:.spec", wrong: true},
		"too many names":              {text: "apps/deployment/prod/web:.spec", wrong: true},
		"broken path":                 {text: ".spec[", wrong: true},
		"one of two broken":           {text: ".a,.spec[", wrong: true},
		"nothing":                     {text: "", wrong: true},
		"only a comma":                {text: ",", wrong: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			choices, err := ParseChoices(tt.text)
			if tt.wrong {
				if err == nil {
					t.Fatalf("ParseChoices(%q) = %v, want an error", tt.text, choices)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range choices {
				path := c.Path.String()
				if c.Manager != "" {
					path = "@" + c.Manager + path
				}
				got = append(got, strings.Join([]string{c.Kind, c.Namespace, c.Name, path}, " "))
				again, err := ParseChoices(c.String())
				if err != nil || len(again) != 1 || again[0].String() != c.String() {
					t.Errorf("String() of %q does not parse to the same choice: got %v, %v", c, again, err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseChoices(%q): %s", tt.text, diff)
			}
		})
	}
}

func TestChoiceNames(t *testing.T) {
	web := object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "prod", Name: "web"}
	kind := object.Kind{Resource: "deployments", ShortNames: []string{"deploy"}}
	for text, want := range map[string]bool{
		".spec":                       true,
		"deployment/web:.spec":        true,
		"deployments/web:.spec":       true,
		"deploy/web:.spec":            true,
		"deploy.apps/web:.spec":       true,
		"deployment.apps/web:all":     true,
		"deployments.apps/web:all":    true,
		"deployment/prod/web:all":     true,
		"deployment/staging/web:all":  false,
		"deployment.batch/web:all":    false,
		"deployment/api:.spec":        false,
		"statefulset/web:.spec":       false,
		"sts/web:.spec":               false,
		"statefulset.apps/prod/web:a": false,
		"deployment:.spec":            true,
		"deploy.apps:all":             true,
		"*.apps/pr*/w*:.spec":         true,
		"*.batch:.spec":               false,
		"dep*/api*:.spec":             false,
		"*/staging/*:.spec":           false,
		"*/prod/*:manager=x":          true,
	} {
		choices, err := ParseChoices(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := choices[0].Names(web, kind); got != want {
			t.Errorf("%q names %s: %v, want %v", text, web, got, want)
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

package target

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func TestTargets(t *testing.T) {
	type want struct {
		Named      []Named
		Types      []string
		Labels     string
		Everywhere bool
	}
	for name, tc := range map[string]struct {
		flags Flags
		args  string
		want  want
		err   string
		hint  string
	}{
		"pairs": {
			args: "deploy/web svc/web",
			want: want{Named: []Named{{"deploy", "web"}, {"svc", "web"}}},
		},
		"pairs, one twice": {
			args: "deploy/web deploy/web",
			want: want{Named: []Named{{"deploy", "web"}}},
		},
		"a type and names": {
			args: "deployments.v1.apps web api",
			want: want{Named: []Named{{"deployments.v1.apps", "web"}, {"deployments.v1.apps", "api"}}},
		},
		"types and names": {
			args: "deploy,svc web",
			want: want{Named: []Named{{"deploy", "web"}, {"svc", "web"}}},
		},
		"a name with dots and colons": {
			args: "clusterrole system:node crd/a.example.com",
			err:  "cannot be combined",
			hint: "write each object",
		},
		"a name with colons": {
			args: "clusterrole/system:node",
			want: want{Named: []Named{{"clusterrole", "system:node"}}},
		},
		"a selector": {
			flags: Flags{Flags: input.Flags{Selector: "app=web"}},
			args:  "deploy",
			want:  want{Types: []string{"deploy"}, Labels: "app=web"},
		},
		"all of several types, everywhere": {
			flags: Flags{All: true, AllNamespaces: true},
			args:  "deploy,sts,deploy",
			want:  want{Types: []string{"deploy", "sts"}, Everywhere: true},
		},
		"nothing":                     {err: "no object named", hint: "-f FILENAME"},
		"a type alone":                {args: "deploy", err: `"deploy" is read as a TYPE`, hint: "--all"},
		"a type alone, everywhere":    {flags: Flags{AllNamespaces: true}, args: "deploy", err: `"deploy" is read as a TYPE`},
		"a name and a selector":       {flags: Flags{Flags: input.Flags{Selector: "a=b"}}, args: "deploy/web", err: `cannot be combined with the name "web"`},
		"a name and all":              {flags: Flags{All: true}, args: "deploy web", err: `cannot be combined with the name "web"`},
		"a name, everywhere":          {flags: Flags{AllNamespaces: true}, args: "deploy web", err: "-A requires", hint: "-n"},
		"all and a selector":          {flags: Flags{All: true, Flags: input.Flags{Selector: "a=b"}}, args: "deploy", err: "cannot be combined"},
		"a bad selector":              {flags: Flags{Flags: input.Flags{Selector: "a in"}}, args: "deploy", err: "-l: "},
		"a blank selector":            {flags: Flags{Flags: input.Flags{Selector: " "}}, args: "deploy", err: `"deploy" is read as a TYPE`, hint: "--all"},
		"-R alone":                    {flags: Flags{Flags: input.Flags{Recursive: true}}, args: "deploy/web", err: "-R requires -f"},
		"a pair after a type":         {args: "deploy svc/web", err: "cannot be combined"},
		"a namespace before the name": {args: "deploy/prod/web", err: "not TYPE/NAME", hint: "-n"},
		"no name":                     {args: "deploy/", err: "not TYPE/NAME"},
		"no type":                     {args: "/web", err: "not TYPE/NAME"},
		"two types in a pair":         {args: "deploy,svc/web", err: "only one TYPE per name"},
		"an empty type":               {args: "deploy, web", err: "a TYPE is missing"},
		"a path for a name":           {args: "deploy ..", err: "a name may not be '..'"},
		"percent in a name":           {args: "deploy/a%2f", err: "a name may not contain '%'"},
		"a file":                      {args: "web.yaml", err: `unexpected argument "web.yaml"`, hint: "-f"},
		"a file in a folder":          {args: "k8s/web.yaml", err: `unexpected argument "k8s/web.yaml"`, hint: "-f"},
		"files and arguments":         {flags: Flags{Flags: input.Flags{Filenames: []string{"a.yaml"}}}, args: "deploy/web", err: "not from both"},
		"files and all":               {flags: Flags{All: true, Flags: input.Flags{Filenames: []string{"a.yaml"}}}, err: "-f and -k always select all objects"},
		"files, everywhere":           {flags: Flags{AllNamespaces: true, Flags: input.Flags{Kustomize: "."}}, err: "have their own namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.flags.ToTargets(strings.Fields(tc.args), genericiooptions.IOStreams{})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				if hint := object.HintOf(err); !strings.Contains(hint, tc.hint) {
					t.Errorf("hint %q, want %q", hint, tc.hint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, want{got.Named, got.Types, got.Labels, got.Everywhere}); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestTargetsInFiles(t *testing.T) {
	flags := Flags{Flags: input.Flags{Filenames: []string{"a.yaml"}, Recursive: true, Selector: "app=web"}}
	got, err := flags.ToTargets(nil, genericiooptions.IOStreams{})
	if err != nil {
		t.Fatal(err)
	}
	if !got.InFiles || !got.Files.Files.Recursive || got.Files.Files.Selector != "app=web" {
		t.Errorf("%+v", got)
	}
}

// A printed reference can be pasted after a verb and selects the same object.
func TestPrintedReferenceCanBePasted(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 1))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range 1000 {
		ref := object.Ref{
			GVK: schema.GroupVersionKind{
				Group: pick("", "apps", "networking.k8s.io", "example.com"), Version: "v1",
				Kind: pick("ConfigMap", "Deployment", "NetworkPolicy", "Widget"),
			},
			Namespace: pick("", "shop", "kube-system", "a1"),
			Name:      pick("web", "web.v1", "system:node", "v1beta1.metrics.k8s.io", "x-1"),
		}
		var flags Flags
		var namespace string
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.StringVarP(&namespace, "namespace", "n", "", "")
		if err := set.Parse(strings.Fields(ref.String())); err != nil {
			t.Fatalf("%s: %v", ref, err)
		}
		got, err := flags.ToTargets(set.Args(), genericiooptions.IOStreams{})
		if err != nil || len(got.Named) != 1 {
			t.Fatalf("%s: %v, %v", ref, got, err)
		}
		want := strings.ToLower(ref.GVK.GroupKind().String())
		if one := got.Named[0]; one.Name != ref.Name || one.Type != want || namespace != ref.Namespace {
			t.Errorf("%s was parsed as %v in namespace %q", ref, one, namespace)
		}
	}
}

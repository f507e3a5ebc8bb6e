package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// decided is the source of a path's decision, in JSON.
type decided struct{ Path, Outcome, By, Choice string }

// A rules file next to the manifests can leave fields to others, for each object separately: the
// replicas of the scaled Deployment, but not of the other one. A file that takes fields has to be
// named by a flag. Guards in the file refuse before any request is sent.
func TestRulesOfAFile(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const app = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: app, image: "registry.example/app:1"}]}
---`
	set := func(replicas string) {
		write("apps.yaml", strings.NewReplacer("NAME", "scaled", "REPLICAS", replicas).Replace(app)+
			strings.NewReplacer("NAME", "plain", "REPLICAS", replicas).Replace(app))
	}
	apply := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "-f", folder}, args...)...)
	}
	replicas := func() string {
		return e2etest.Kubectl(t, c, "get", "deployments", "-n", ns, "-o", "jsonpath={range .items[*]}{.metadata.name}={.spec.replicas} {end}")
	}
	set("2")
	apply().Ends(t, 0)
	e2etest.Kubectl(t, c, "scale", "deployment/scaled", "-n", ns, "--replicas=5")
	set("3")
	apply().Ends(t, 1)

	// A typo in a rule can be the cause of a remaining conflict, so the report of conflicts also
	// warns about it.
	slip := write("k8sconnect.yaml", "yield:\n- {kind: Deploymnt, path: .spec.replicas}\n- {manager: kubctl}\n")
	for _, verb := range []string{"apply", "diff"} {
		r := e2etest.Plugin(t, c.KubeconfigPath, verb, "-n", ns, "-f", folder).Ends(t, 1)
		for _, want := range []string{
			slip + ":2:3: the rule to yield deploymnt:manager=*:.spec.replicas matched nothing: it names no object in the input",
			slip + ":3:3: the rule to yield manager=kubctl matched nothing: the manager owns nothing that the input sets",
		} {
			if !strings.Contains(unwrapped(r.Stderr.String()), want) {
				t.Errorf("%s: no %q on stderr:\n%s", verb, want, r.Stderr.String())
			}
		}
	}

	config := write("k8sconnect.yaml", "yield:\n- {manager: kubectl}\n- {kind: StatefulSet, path: .spec.replicas}\n")
	r := apply("-v", "1").Ends(t, 0)
	if got := replicas(); got != "plain=3 scaled=5 " {
		t.Errorf("replicas: %s\n%s", got, r)
	}
	for _, want := range []string{
		"using " + config + "\n",
		"deployment.apps/scaled -n " + ns + ": .spec.replicas yielded by " + config + ":2:3",
		config + ":3:3: the rule to yield statefulset:manager=*:.spec.replicas matched nothing: it names no object in the input",
	} {
		if !strings.Contains(unwrapped(r.Stderr.String()), want) {
			t.Errorf("no %q on stderr:\n%s", want, r.Stderr.String())
		}
	}
	if strings.Contains(r.Stderr.String(), "plain") {
		t.Errorf("a rule decided about an object in which its manager owns nothing:\n%s", r.Stderr.String())
	}
	e2etest.Plugin(t, c.KubeconfigPath, "diff", "-n", ns, "-f", folder).Ends(t, 0)
	for _, verb := range []string{"apply", "diff"} {
		// JSON output stays one document with explanations in it; they are also on stderr.
		r := e2etest.Plugin(t, c.KubeconfigPath, verb, "-n", ns, "-f", folder, "-v", "1", "-o", "json").Ends(t, 0)
		var document struct {
			Objects []struct {
				Name    string
				Yielded []string
				Decided []decided
			}
		}
		if err := json.Unmarshal(r.Stdout.Bytes(), &document); err != nil {
			t.Errorf("%s: %v\n%s", verb, err, r)
		}
		yielded := 0
		for _, o := range document.Objects {
			var want []decided
			if o.Name == "scaled" {
				want = []decided{{".spec.replicas", "yielded", config + ":2:3", "manager=kubectl"}}
			}
			if !slices.Equal(o.Decided, want) {
				t.Errorf("%s: %s: %+v, want %+v", verb, o.Name, o.Decided, want)
			}
			if o.Name == "scaled" && slices.Contains(o.Yielded, ".spec.replicas") {
				yielded++
			}
		}
		if yielded != 1 || !strings.Contains(r.Stderr.String(), ".spec.replicas yielded by "+config+":2:3") {
			t.Errorf("%s:\n%s", verb, r)
		}
		// The explanation is in the output if it was requested.
		if r := e2etest.Plugin(t, c.KubeconfigPath, verb, "-n", ns, "-f", folder, "-o", "json").Ends(t, 0); strings.Contains(r.Stdout.String(), "decided") {
			t.Errorf("%s:\n%s", verb, r)
		}
	}
	// Decisions by flags and by the annotation are named like those by the file, in the stream,
	// too.
	r = e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", folder, "--config=", "--yield=deploy/scaled:.spec.replicas", "-v", "1", "-o", "stream").Ends(t, 0)
	if want := `"decided":[{"path":".spec.replicas","outcome":"yielded","by":"--yield","choice":"deploy/scaled:.spec.replicas"}]`; !strings.Contains(r.Stdout.String(), want) {
		t.Errorf("no %s:\n%s", want, r)
	}

	// A rule for an object that -l excludes is not reported as matching nothing.
	write("k8sconnect.yaml", "yield:\n- {kind: deploy, name: scaled, path: .spec.replicas}\n- {kind: deploy, name: scald, path: .spec.replicas}\n")
	labelled := func(name string) string {
		return strings.Replace(strings.NewReplacer("NAME", name, "REPLICAS", "3").Replace(app), "metadata: {name: "+name, "metadata: {labels: {part: "+name+"}, name: "+name, 1)
	}
	write("apps.yaml", labelled("scaled")+labelled("plain"))
	if r := apply("-l", "part=plain").Ends(t, 0); strings.Contains(r.Stderr.String(), ":2:3: the rule") || !strings.Contains(unwrapped(r.Stderr.String()), ":3:3: the rule to yield") {
		t.Errorf("want a warning about the second rule only:\n%s", r.Stderr.String())
	}
	set("3")

	write("k8sconnect.yaml", "take: [{kind: Deployment, path: .spec.replicas}]\n")
	if r := apply().Ends(t, 2); !strings.Contains(r.Stderr.String(), "k8sconnect.yaml:1:1: take is allowed only in a file that you name") {
		t.Error(r)
	}
	apply("--config=").Ends(t, 1)
	write("k8sconnect.yaml", "expect: {context: another}\n")
	if r := apply("-v", "1").Ends(t, 2); strings.Contains(r.Stderr.String(), "rules: ") {
		t.Errorf("rules are explained for a run that reached no object:\n%s", r.Stderr.String())
	}
	if r := apply().Ends(t, 2); !strings.Contains(r.Stderr.String(), "wrong context") || !strings.Contains(r.Stderr.String(), "k8sconnect.yaml:1:10: expect.context=another") {
		t.Error(r)
	}
	write("k8sconnect.yaml", "take: [{kind: Deployment, path: .spec.replicas}]\n")
	apply("--config="+config).Ends(t, 0)
	if got := replicas(); got != "plain=3 scaled=3 " {
		t.Errorf("replicas: %s", got)
	}
}

// unwrapped returns a text without the line breaks of wrapping.
func unwrapped(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

package e2e_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// At its end, apply --wait explains as many objects as wait does, and a warning names the rest with the
// command that explains all. Nothing in the cluster sets up load balancers.
func TestApplyWaitExplainsManyObjects(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const objects, explained = 103, 100
	var set strings.Builder
	for i := range objects {
		fmt.Fprintf(&set, "apiVersion: v1\nkind: Service\nmetadata: {name: s-%03d}\nspec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: x}}\n---\n", i)
	}
	run := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, set.String()), "--wait", "--timeout-for=service=5s", "-o", "json").Ends(t, 1)
	var result struct {
		Objects []struct {
			Name string
			Wait struct {
				Result string
				Causes []struct{ Code string }
			}
		}
	}
	if err := json.Unmarshal(run.Stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Objects) != objects {
		t.Fatalf("%d objects are reported", len(result.Objects))
	}
	warning := regexp.MustCompile(`(?m)^warning: not explained: (.*); to explain all: kubectl k8sconnect unready .*-n ` + ns).FindStringSubmatch(run.Stderr.String())
	if warning == nil {
		t.Fatalf("no warning:\n%s", run.Stderr.String())
	}
	with := 0
	for _, o := range result.Objects {
		if o.Wait.Result != "timeout" {
			t.Errorf("%s: %s", o.Name, o.Wait.Result)
		}
		named := strings.Contains(warning[1], "service/"+o.Name+" -n")
		switch {
		case len(o.Wait.Causes) > 0 && o.Wait.Causes[0].Code == "LoadBalancerPending":
			with++
			if named {
				t.Errorf("%s is explained, but the warning names it", o.Name)
			}
		case !named:
			t.Errorf("%s has neither a cause nor a warning", o.Name)
		}
	}
	if with != explained {
		t.Errorf("%d objects are explained, want %d", with, explained)
	}
}

package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

const bundle = `apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- {apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, metadata: {name: b, uid: x, generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [{manager: a, operation: Update}]}, spec: {}, status: {conditions: [{type: Ready, status: "True", reason: Available}, {type: Synced, status: "False", reason: ReconcileError, message: "AccessDenied"}]}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1, uid: y}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [{type: Available, status: "True"}]}}
`

// Without a server, objects are checked as they are in the file: their status stays, and a
// condition that must hold for some time counts as having held long enough (edge case 95).
func TestWaitLocal(t *testing.T) {
	noCluster(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bundle.yaml", bundle)
	write("web.yaml", strings.ReplaceAll(bundle[strings.Index(bundle, "- {apiVersion: apps"):], "- {", "{"))
	write("failed.yaml", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False", reason: FetchFailed, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)
	write("widget.yaml", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {size: 3}}`)
	write("broken.yaml", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {size: 1, phase: Failed, message: no disk}}`)
	write("odd.yaml", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {size: large}}`)
	write("rules.yaml", "kinds:\n- {group: example.com, kind: Widget, ready: self.status.size >= 3}\n")
	write("own.yaml", "readiness: rules.yaml\n")
	write("bad-own.yaml", "readiness: bad.yaml\n")
	write("bad.yaml", "kinds:\n- {group: example.com, kind: Widget,\n   ready: self.status.size >= }\n")
	for line, want := range map[string]struct {
		status  int
		message string
	}{
		"-f bundle.yaml":                            {1, "its condition Ready is True, but Synced is False (ReconcileError): AccessDenied"},
		"-f bundle.yaml -o json":                    {1, `"result": "met"`},
		"-f bundle.yaml -o stream":                  {1, `"result":"unmet"`},
		"-f web.yaml":                               {0, "met"},
		"-f web.yaml -o name":                       {0, "deployment.apps/web"},
		"-f web.yaml --for=self.status.replicas==2": {1, "self.status.replicas"},
		"-f web.yaml --for=condition=Available":     {0, "met"},
		"-f failed.yaml":                            {1, "failed"},
		"-f broken.yaml --config=own.yaml":          {1, "failed"},
		"-f odd.yaml --config=own.yaml":             {2, "rules.yaml:2: "},
		"-f odd.yaml --for=has(self.status) --fail-on=self.status.size<3": {2, "1 unknown"},
		"-f widget.yaml":                       {1, "wait for your own expression"},
		"-f widget.yaml --config=own.yaml":     {0, "met"},
		"-f widget.yaml --config=bad-own.yaml": {2, "readiness: bad.yaml:3: "},
		"-f web.yaml --timeout=3s":             {2, "cannot be combined with --timeout"},
		"deploy/web":                           {2, "no file is given"},
		"-f nothing.yaml":                      {2, "nothing.yaml"},
	} {
		status, out, stderr := call(t, append([]string{"wait", "--local"}, strings.Fields(line)...)...)
		if status != want.status || !strings.Contains(out+stderr, want.message) {
			t.Errorf("%s: exit status %d\n%s%s", line, status, out, stderr)
		}
	}
}

func TestWaitLocalReadsStandardInput(t *testing.T) {
	noCluster(t)
	var out, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(bundle), Out: &out, ErrOut: &stderr}
	if status := Main(t.Context(), []string{"kubectl-k8sconnect", "wait", "--local", "-f", "-"}, streams); status != 1 || !strings.HasSuffix(out.String(), "1 met, 1 not met\n") {
		t.Errorf("%d\n%s%s", status, &out, &stderr)
	}
}

func TestExplainReady(t *testing.T) {
	noCluster(t)
	if err := os.WriteFile("rules.yaml", []byte("kinds:\n- {group: apps, kind: Deployment, ready: 'true', failed: 'false', message: \"'so'\"}\n- {group: example.com, kind: Database, ready: self.a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("own.yaml", []byte("readiness: rules.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"canary":                       {"Canary.flagger.app", "ready    self.status.phase in ['Initialized', 'Succeeded']", "from     the built-in table of kinds"},
		"canaries.flagger.app":         {"Canary.flagger.app"},
		"deploy":                       {"Deployment.apps", "ready    all replicas", "from     the built-in rule for this kind"},
		"deploy --config=own.yaml":     {"ready    true", "failed   false", "message  'so'", "from     the file rules.yaml"},
		"certificates.cert-manager.io": {"certificates.cert-manager.io", "from     the conventions"},
		"databases.example.com --config=own.yaml": {"Database.example.com", "ready    self.a"},
		"servicemonitors":                         {"ServiceMonitor.monitoring.coreos.com", "ready    it exists, and nothing in its status says that it is not ready"},
		"Database":                                {"ready    it exists, and nothing in its status says that it is not ready, if it is one of Kubernetes' own kinds; otherwise: something"},
		"httproute":                               {"HTTPRoute.gateway.networking.k8s.io", "each gateway"},
	} {
		status, out, stderr := call(t, append([]string{"wait", "--explain-ready"}, strings.Fields(line)...)...)
		if status != 0 || !strings.Contains(stderr, "the server could not be asked") {
			t.Errorf("%s: exit status %d, %s", line, status, stderr)
		}
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s: no %q in\n%s", line, part, out)
			}
		}
	}
	if status, _, stderr := call(t, "wait", "--explain-ready", "deploy", "deploy/web"); status != 2 || !strings.Contains(stderr, "cannot be combined with objects") {
		t.Errorf("%d, %s", status, stderr)
	}
}

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each of these values would break a promise, or is a typo that would be ignored.
func TestValuesThatAreRefused(t *testing.T) {
	refused := map[string]struct{ set, want string }{
		"a webhook that denies without a replica": {"admission.failurePolicy=Fail", "failurePolicy"},
		"a longer timeout":                        {"admission.timeoutSeconds=3", "timeoutSeconds"},
		"no timeout":                              {"admission.timeoutSeconds=0", "timeoutSeconds"},
		// For Helm, null means no value; the API server then defaults to Fail and 10 s.
		"no failure policy":      {"admission.failurePolicy=null", "failurePolicy"},
		"timeout null":           {"admission.timeoutSeconds=null", "timeoutSeconds"},
		"no value for admission": {"admission=null", "admission"},
		"no value for Secrets":   {"tracking.secrets=null", "secrets"},
		"no value for exclusion": {"exclude=null", "exclude"},
		"no list of namespaces":  {"exclude.namespaces=null", "namespaces"},
		// Edge case 78: no value makes the webhook match these.
		"a selector that replaces the excluded namespaces": {"admission.namespaceSelector.matchLabels.a=b", "namespaceSelector"},
		"custom rules":                            {"admission.rules[0]=leases", "rules"},
		"custom match conditions":                 {"admission.matchConditions[0].name=x", "matchConditions"},
		"a list that replaces the excluded kinds": {"exclude.only={Pod}", "only"},
		"a namespace that ends the CEL list":      {`exclude.namespaces={x"]) || true || ("" in [}`, "namespaces"},
		"a kind that ends the CEL list":           {`exclude.kinds={Pod"]) || true}`, "kinds"},
		"all groups, and Secrets with them":       {"tracking.secrets=false,tracking.customGroups={*}", "customGroups"},
		"the core group, and Secrets with it":     {"tracking.secrets=false,tracking.customGroups[0]=", "customGroups"},
		"records without a limit":                 {"tracking.recordsPerSecond=100", "recordsPerSecond"},
		"a disruption budget that blocks drains":  {"podDisruptionBudget.maxUnavailable=0", "maxUnavailable"},
		"the kubelet's port on the nodes":         {"admission.hostNetwork=true", "port"},
		"client names without a client CA":        {"admission.clientNames={kube-apiserver}", "clientNames"},
		"no ports":                                {"admission.port=null", "port"},
		"a label that selects the pods":           {`labels.app\.kubernetes\.io/name=x`, "/labels/app"},
		"a pod label that selects the pods":       {`podLabels.app\.kubernetes\.io/instance=x`, "/podLabels/app"},
		"a monitor label that selects the pods":   {`monitoring.serviceMonitor.labels.app\.kubernetes\.io/name=x`, "/monitoring/serviceMonitor/labels/app"},
		"no ports of the API server":              {"networkPolicy.apiServerPorts=null", "apiServerPorts"},
		// Without this, Helm reports "nil pointer" and a line of a template.
		"no value for the image":                     {"image=null", "image"},
		"no value for monitoring":                    {"monitoring=null", "missing property 'monitoring'"},
		"no value for certificates":                  {"certificates=null", "missing property 'certificates'"},
		"no value for the definition":                {"crds=null", "missing property 'crds'"},
		"no value for the account":                   {"serviceAccount=null", "missing property 'serviceAccount'"},
		"no value for drains":                        {"podDisruptionBudget=null", "missing property 'podDisruptionBudget'"},
		"no value for the network":                   {"networkPolicy=null", "missing property 'networkPolicy'"},
		"no value for a custom group":                {"tracking.customGroups=null", "missing property 'customGroups'"},
		"an invalid argument":                        {"extraArgs={rm}", "extraArgs"},
		"an unknown log level":                       {"logLevel=loud", "logLevel"},
		"no replicas":                                {"replicas=0", "replicas"},
		"an unknown mode":                            {"mode=pod", "mode"},
		"an unknown key":                             {"replica=2", "replica"},
		"an unknown key further down":                {"image.repo=x", "repo"},
		"an invalid digest":                          {"image.digest=latest", "digest"},
		"an issuer without a name":                   {"certificates.issuerRef.kind=ClusterIssuer", "name"},
		"an existing service account without a name": {"serviceAccount.create=false", "name"},
		// The API server, the kubelet or the webhook would refuse these, after Helm has reported success.
		"a tag with a space":                     {"image.tag=1.0 beta", "tag"},
		"a tag that is a digest":                 {"image.tag=sha256:00", "tag"},
		"a repository with a space":              {"image.repository=ghcr.io/a b", "repository"},
		"a repository with a tag":                {"image.repository=ghcr.io/k8sconnect/webhook:1", "repository"},
		"a repository with a scheme":             {"image.repository=https://ghcr.io/k8sconnect/webhook", "repository"},
		"a repository in capitals":               {"image.repository=ghcr.io/K8sconnect/webhook", "repository"},
		"a registry with a scheme":               {"global.imageRegistry=https://mirror", "imageRegistry"},
		"memory without a number":                {"resources.limits.memory=lots", "memory"},
		"memory with an unknown unit":            {"resources.limits.memory=512MB", "memory"},
		"memory with a space":                    {"resources.requests.memory=128 Mi", "memory"},
		"a negative amount of CPU":               {"resources.requests.cpu=-1", "cpu"},
		"an IPv4 prefix of 33 bits":              {"networkPolicy.apiServerCIDRs={192.0.2.0/33}", "apiServerCIDRs"},
		"an IPv4 address above 255":              {"networkPolicy.apiServerCIDRs={192.0.2.256/32}", "apiServerCIDRs"},
		"an IPv4 address of three parts":         {"networkPolicy.apiServerCIDRs={192.0.2/24}", "apiServerCIDRs"},
		"an IPv6 prefix of 129 bits":             {"networkPolicy.apiServerCIDRs={2001:db8::/129}", "apiServerCIDRs"},
		"an address without a prefix":            {"networkPolicy.apiServerCIDRs={192.0.2.1}", "apiServerCIDRs"},
		"a peer with an IPv4 prefix of 33 bits":  {"networkPolicy.admissionFrom[0].ipBlock.cidr=192.0.2.0/33", "cidr"},
		"a peer with a typo":                     {"networkPolicy.metricsFrom[0].ipblock.cidr=192.0.2.0/24", "ipblock"},
		"a label with a space":                   {"labels.team=a b", "/labels/team"},
		"a label of 64 characters":               {"labels.team=" + strings.Repeat("a", 64), "/labels/team"},
		"a label key with a space":               {"labels.my team=a", "my team"},
		"a pod label that ends in a dash":        {"podLabels.team=a-", "/podLabels/team"},
		"a node label with a slash":              {"nodeSelector.pool=a/b", "/nodeSelector/pool"},
		"an annotation key with a space":         {"podAnnotations.my note=a", "my note"},
		"a monitor label with a space":           {"monitoring.serviceMonitor.labels.release=a b", "/labels/release"},
		"an unknown taint effect":                {"tolerations[0].effect=NoRun", "effect"},
		"an unknown operator":                    {"tolerations[0].operator=Is", "operator"},
		"a priority class with a space":          {"priorityClassName=very high", "priorityClassName"},
		"an issuer's kind with a space":          {"certificates.issuerRef.name=a,certificates.issuerRef.kind=Cluster Issuer", "kind"},
		"two leaders":                            {"extraArgs={--leader-elect=false}", "extraArgs"},
		"another port in an argument":            {"extraArgs={--port=1}", "extraArgs"},
		"another namespace in an argument":       {"extraArgs={--namespace=a}", "extraArgs"},
		"no suspension in an argument":           {"extraArgs={--suspend-calls=false}", "extraArgs"},
		"records without a limit in an argument": {"extraArgs={--records-per-second=100}", "extraArgs"},
	}
	cases := slices.Sorted(maps.Keys(refused))
	sets := make([]string, len(cases))
	for i, name := range cases {
		sets[i] = refused[name].set
	}
	for i, complaint := range complaints(t, sets) {
		if want := refused[cases[i]].want; !strings.Contains(complaint, want) {
			t.Errorf("%s: --set %s is accepted, or the complaint does not name %s: %q", cases[i], sets[i], want, complaint)
		}
	}
}

// The schema accepts unusual values that Kubernetes accepts.
func TestValuesThatAreAccepted(t *testing.T) {
	h := NewHelm(t, "")
	for _, set := range []string{
		"image.repository=localhost:5000/a/b_c.d--e", "image.repository=webhook", "image.tag=v1.0_beta-2", "global.imageRegistry=mirror.example:5000/proxy",
		"resources.limits.memory=1e9", "resources.limits.memory=1.5Gi", "resources.requests.cpu=2", `resources.limits.example\.com/gpu=1`,
		"networkPolicy.apiServerCIDRs={0.0.0.0/0,2001:db8::/32,::ffff:192.0.2.1/128}", "networkPolicy.admissionFrom[0].namespaceSelector.matchLabels.a=b",
		"labels.team=", `labels.example\.com/team=A.b_c`, "nodeSelector.pool=", `podAnnotations.a\.b/c=any text`,
		"tolerations[0].operator=Exists", "extraArgs={--log-level=error}",
	} {
		h.Run(t, "template", "release", Dir(t), "--kube-version", "1.37", "--set", set)
	}
}

// The schema cannot express these rules. Templates check them, each in its own run.
func TestValuesThatTemplatesRefuse(t *testing.T) {
	h := NewHelm(t, "")
	for set, want := range map[string]string{
		"metricsPort=10250":                "metricsPort and healthPort must differ", // two listeners on one port
		"healthPort=8080":                  "metricsPort and healthPort must differ", // two other listeners on one port
		"global.registry=x":                "global.registry",
		"terminationGracePeriodSeconds=14": "shutdownDelaySeconds", // the pod would end before its state is stored
	} {
		_, err := h.Try(t.Context(), "template", "release", Dir(t), "--kube-version", "1.37", "--set", set)
		if err == nil {
			t.Errorf("--set %s is accepted", set)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("the complaint does not name %s: %v", want, err)
		}
	}
}

// complaints returns Helm's message for each set of values, empty if the chart accepts it. One run
// checks all sets: it renders a chart that has ours as a dependency once for each set, under
// different names.
func complaints(t *testing.T, sets []string) []string {
	t.Helper()
	h, parent := NewHelm(t, ""), t.TempDir()
	if err := os.CopyFS(filepath.Join(parent, "charts", "k8sconnect"), os.DirFS(Dir(t))); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "release", parent, "--kube-version", "1.37"}
	chart := "apiVersion: v2\nname: parent\nversion: 0.1.0\ndependencies:\n"
	for i, set := range sets {
		chart += fmt.Sprintf("- {name: k8sconnect, version: '*', alias: case%d}\n", i)
		prefix := fmt.Sprintf("case%d.", i)
		args = append(args, "--set", prefix+strings.ReplaceAll(set, ",", ","+prefix))
	}
	if err := os.WriteFile(filepath.Join(parent, "Chart.yaml"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := h.Try(t.Context(), args...)
	if err == nil {
		t.Fatal("all values are accepted")
	}
	message := make([]string, len(sets))
	_, text, _ := strings.Cut(err.Error(), "in the following chart(s):\n")
	of := -1
	for line := range strings.Lines(text) {
		if name, ok := strings.CutSuffix(line, ":\n"); ok && strings.HasPrefix(name, "case") {
			if of, err = strconv.Atoi(strings.TrimPrefix(name, "case")); err != nil {
				t.Fatal(err)
			}
		} else if of >= 0 {
			message[of] += line
		}
	}
	return message
}

// Helm accepts release names that are not valid names of a Service. The chart refuses them before
// any object is created.
func TestNamesThatAreRefused(t *testing.T) {
	h := NewHelm(t, "")
	for _, release := range []string{"my.release", "1st", "a." + strings.Repeat("b", 48)} {
		_, err := h.Try(t.Context(), "template", release, Dir(t), "--kube-version", "1.37")
		if err == nil || !strings.Contains(err.Error(), "fullnameOverride") {
			t.Errorf("%s: %v", release, err)
		}
		h.Run(t, "template", release, Dir(t), "--kube-version", "1.37", "--set", "fullnameOverride=k8sconnect")
	}
	h.Run(t, "template", strings.Repeat("a", 53), Dir(t), "--kube-version", "1.37")
}

// Without stable match conditions, a cluster would call the webhook for every write.
func TestOldServersAreRefused(t *testing.T) {
	h := NewHelm(t, "")
	if _, err := h.Try(t.Context(), "template", "release", Dir(t), "--kube-version", "1.29.9"); err == nil {
		t.Error("1.29 is accepted")
	}
	// Versions as distributions write them.
	h.Run(t, "template", "release", Dir(t), "--kube-version", "1.30.2-gke.100")
}

package chart

import (
	"strings"
	"testing"
)

// Each of these would break a promise, or is a typing error that would be ignored.
func TestValuesThatAreRefused(t *testing.T) {
	h := NewHelm(t, "")
	for name, test := range map[string]struct{ set, want string }{
		"a webhook that denies when it is gone": {"admission.failurePolicy=Fail", "failurePolicy"},
		"a longer wait":                         {"admission.timeoutSeconds=3", "timeoutSeconds"},
		"no time-out at all":                    {"admission.timeoutSeconds=0", "timeoutSeconds"},
		// Helm takes null for no value, and the API server Fail and 10 s for none.
		"no failure policy":            {"admission.failurePolicy=null", "failurePolicy"},
		"no time-out":                  {"admission.timeoutSeconds=null", "timeoutSeconds"},
		"nothing said of admission":    {"admission=null", "admission"},
		"nothing said of Secrets":      {"tracking.secrets=null", "secrets"},
		"nothing said of exclusion":    {"exclude=null", "exclude"},
		"no list of namespaces at all": {"exclude.namespaces=null", "namespaces"},
		// Edge case 78: there is no value by which these would be matched.
		"namespaces that replace those left out": {"admission.namespaceSelector.matchLabels.a=b", "namespaceSelector"},
		"rules of one's own":                     {"admission.rules[0]=leases", "rules"},
		"conditions of one's own":                {"admission.matchConditions[0].name=x", "matchConditions"},
		"kinds that replace those left out":      {"exclude.only={Pod}", "only"},
		"a namespace that ends the CEL list":     {`exclude.namespaces={x"]) || true || ("" in [}`, "namespaces"},
		"a kind that ends the CEL list":          {`exclude.kinds={Pod"]) || true}`, "kinds"},
		"all groups, and Secrets with them":      {"tracking.secrets=false,tracking.customGroups={*}", "customGroups"},
		"the core group, and Secrets with it":    {"tracking.secrets=false,tracking.customGroups[0]=", "customGroups"},
		"records without a limit":                {"tracking.recordsPerSecond=100", "recordsPerSecond"},
		"drains that wait for ever":              {"podDisruptionBudget.maxUnavailable=0", "maxUnavailable"},
		"the kubelet's port on the nodes":        {"admission.hostNetwork=true", "port"},
		"names that nobody can know":             {"admission.clientNames={kube-apiserver}", "clientNames"},
		"no port at all":                         {"admission.port=null", "port"},
		"a label that selects the pods":          {`labels.app\.kubernetes\.io/name=x`, "labels"},
		"such a label of the pods":               {`podLabels.app\.kubernetes\.io/instance=x`, "podLabels"},
		"such a label of a monitor":              {`monitoring.serviceMonitor.labels.app\.kubernetes\.io/name=x`, "labels"},
		"pods that may call everything":          {"networkPolicy.apiServerPorts=null", "apiServerPorts"},
		"one port for two listeners":             {"metricsPort=10250", "metricsPort"},
		"one port for two others":                {"healthPort=8080", "healthPort"},
		// Helm would say "nil pointer", and a line of a template.
		"nothing said of the image":           {"image=null", "image"},
		"nothing said of monitoring":          {"monitoring=null", "missing property 'monitoring'"},
		"nothing said of certificates":        {"certificates=null", "missing property 'certificates'"},
		"nothing said of the definition":      {"crds=null", "missing property 'crds'"},
		"nothing said of the account":         {"serviceAccount=null", "missing property 'serviceAccount'"},
		"nothing said of drains":              {"podDisruptionBudget=null", "missing property 'podDisruptionBudget'"},
		"nothing said of the network":         {"networkPolicy=null", "missing property 'networkPolicy'"},
		"nothing said of a custom group":      {"tracking.customGroups=null", "missing property 'customGroups'"},
		"an argument that is none":            {"extraArgs={rm}", "extraArgs"},
		"a level that the log does not have":  {"logLevel=loud", "logLevel"},
		"no replicas":                         {"replicas=0", "replicas"},
		"an unknown key":                      {"replica=2", "replica"},
		"an unknown key further down":         {"image.repo=x", "repo"},
		"a digest that is none":               {"image.digest=latest", "digest"},
		"an issuer without a name":            {"certificates.issuerRef.kind=ClusterIssuer", "name"},
		"somebody's account without its name": {"serviceAccount.create=false", "name"},
		"an end before what was seen is kept": {"terminationGracePeriodSeconds=14", "shutdownDelaySeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := h.Try(t.Context(), "template", "release", Dir(t), "--kube-version", "1.37", "--set", test.set)
			if err == nil {
				t.Fatalf("--set %s is accepted", test.set)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("the complaint does not name %s: %v", test.want, err)
			}
		})
	}
}

// Helm takes names for a release that no Service can have. The objects are not made one by
// one until the API server refuses that one.
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

// Clusters that do not have stable match conditions would call for every write.
func TestOldServersAreRefused(t *testing.T) {
	h := NewHelm(t, "")
	if _, err := h.Try(t.Context(), "template", "release", Dir(t), "--kube-version", "1.29.9"); err == nil {
		t.Error("1.29 is accepted")
	}
	// As distributions spell their versions.
	h.Run(t, "template", "release", Dir(t), "--kube-version", "1.30.2-gke.100")
}

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// callsOf returns one command line for each verb that talks to a cluster, and one for shell
// completion.
func callsOf(t *testing.T) map[string][]string {
	t.Helper()
	calls := map[string][]string{
		"apply":      {"apply", "-f", "map.yaml"},
		"diff":       {"diff", "-f", "map.yaml"},
		"delete":     {"delete", "-f", "map.yaml"},
		"wait":       {"wait", "cm/app", "--for=create"},
		"stuck":      {"stuck", "-A"},
		"unready":    {"unready", "-A"},
		"deprecated": {"deprecated", "-A"},
		"fights":     {"fights", "-A"},
		"releases":   {"releases", "-A"},
		"history":    {"history", "cm/app"},
		"owners":     {"owners", "cm/app"},
		"give":       {"give", "cm/app", ".data.a", "--to=flux"},
		"sets":       {"sets"},
		"version":    {"version"},
		"completion": {"__complete", "wait", ""},
	}
	for _, cmd := range newRoot(genericiooptions.IOStreams{}, redact.NewVault()).Commands() {
		if calls[cmd.Name()] == nil && cmd.Name() != "config" { // It turns files into files.
			t.Errorf("callsOf has no call of the verb %s", cmd.Name())
		}
	}
	return calls
}

// guarded is a server that answers the request with which a guard identifies the cluster.
type guarded struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

func newGuarded(t *testing.T, status int) *guarded {
	t.Helper()
	g := &guarded{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.requests = append(g.requests, r.Method+" "+r.URL.Path)
		g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
			return
		}
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"the-right-one","resourceVersion":"1"}}`))
			return
		}
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(status),
			Reason: map[int]metav1.StatusReason{
				http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
			}[status],
			Message: `namespaces "kube-system" …`, Details: &metav1.StatusDetails{Name: "kube-system", Kind: "namespaces"},
		})
	}))
	t.Cleanup(g.Close)
	noCluster(t)
	t.Setenv("KUBECONFIG", "kubeconfig")
	config := strings.ReplaceAll(twoContexts, "https://127.0.0.1:1", g.URL)
	write(t, "kubeconfig", strings.ReplaceAll(config, "work", "arn:aws:eks:eu:1:cluster/work"))
	write(t, "map.yaml", oneMap)
	return g
}

// For every verb, a guard that fails ends the run before any request but the one for the cluster's
// UID; if the guard passes, the run continues. With -short, each kind of guard is tried with every
// verb, and each case with one verb.
func TestGuards(t *testing.T) {
	const uid = "GET /api/v1/namespaces/kube-system"
	for name, test := range map[string]struct {
		flags  []string
		env    map[string]string
		status int
		// holds means that the guard passes and the run continues.
		holds bool
		want  []string
		says  string
	}{
		"no guard":      {holds: true},
		"context":       {flags: []string{"--expect-context=h*"}, holds: true},
		"wrong context": {flags: []string{"--expect-context=prod-*"}, says: `error: wrong context: "home" is not what --expect-context='prod-*' expects; nothing was sent to it`},
		"another context is the right one": {
			flags: []string{"--expect-context=*/work"},
			says:  "hint: choose a matching one with --context: arn:aws:eks:eu:1:cluster/work",
		},
		"a star matches slashes": {flags: []string{"--expect-context=arn*work", "--context=arn:aws:eks:eu:1:cluster/work"}, holds: true},
		"wrong context, pattern from the environment": {
			env: map[string]string{"KUBECTL_K8SCONNECT_EXPECT_CONTEXT": "prod"}, says: `"home" is not what KUBECTL_K8SCONNECT_EXPECT_CONTEXT=prod expects`,
		},
		"a flag does not lift what the environment expects": {
			flags: []string{"--expect-context=home"}, env: map[string]string{"KUBECTL_K8SCONNECT_EXPECT_CONTEXT": "prod"},
			says: `"home" is not what KUBECTL_K8SCONNECT_EXPECT_CONTEXT=prod expects`,
		},
		"--server overrides the cluster of the context": {
			flags: []string{"--expect-context=home", "--server=https://127.0.0.1:1"}, says: "error: --server overrides the cluster of context",
		},
		"empty":        {flags: []string{"--expect-context="}, says: "error: --expect-context is empty and would not guard anything"},
		"empty by env": {env: map[string]string{"KUBECTL_K8SCONNECT_EXPECT_CLUSTER": ""}, says: "error: KUBECTL_K8SCONNECT_EXPECT_CLUSTER is empty"},
		"no pattern":   {flags: []string{"--expect-context=[a"}, says: "not a pattern"},
		"cluster":      {flags: []string{"--expect-cluster=the-right-one"}, holds: true, want: []string{uid}},
		"wrong cluster": {
			flags: []string{"--expect-cluster=another"}, want: []string{uid},
			says: "error: wrong cluster: its UID is the-right-one, not what --expect-cluster=another expects; nothing else was sent to it",
		},
		"wrong cluster, UID from the environment": {
			env: map[string]string{"KUBECTL_K8SCONNECT_EXPECT_CLUSTER": "another"}, want: []string{uid}, says: "not what KUBECTL_K8SCONNECT_EXPECT_CLUSTER=another expects",
		},
		"forbidden": {
			flags: []string{"--expect-cluster=the-right-one"}, status: http.StatusForbidden, want: []string{uid},
			says: "hint: the guard needs permission to get the namespace kube-system",
		},
		"no such namespace": {
			flags: []string{"--expect-cluster=the-right-one"}, status: http.StatusNotFound, want: []string{uid}, says: "it has no namespace kube-system",
		},
	} {
		for called, args := range callsOf(t) {
			if testing.Short() && called != "apply" && !slices.Contains([]string{"wrong context", "wrong cluster, UID from the environment", "cluster"}, name) {
				continue
			}
			t.Run(name+"/"+called, func(t *testing.T) {
				if test.status == 0 {
					test.status = http.StatusOK
				}
				g := newGuarded(t, test.status)
				for name, value := range test.env {
					t.Setenv(name, value)
				}
				args := slices.Insert(slices.Clone(args), 1, append(test.flags, "--server-timeout=0")...)
				code, out, stderr := call(t, args...)
				if !test.holds {
					if diff := cmp.Diff(test.want, g.requests); diff != "" {
						t.Errorf("requests: -want +got:\n%s%s%s", diff, out, stderr)
					}
					if called != "completion" && (code != verb.ExitUnknown || !strings.Contains(stderr, test.says)) {
						t.Errorf("exit status %d, stderr does not say %s:\n%s", code, test.says, stderr)
					}
					if asked := len(g.requests) > 0; called != "completion" && asked != regexp.MustCompile(`\nrun: [0-9A-Z]{26}\n$`).MatchString(stderr) {
						t.Errorf("stderr should end with the run's ID exactly if a request was sent (%v):\n%s", asked, stderr)
					}
					return
				}
				if len(g.requests) <= len(test.want) || !slices.Equal(g.requests[:len(test.want)], test.want) {
					t.Errorf("exit status %d, requests %q\n%s", code, g.requests, stderr)
				}
				if slices.Contains(g.requests[len(test.want):], uid) {
					t.Errorf("the UID was requested again or unnecessarily: requests %q", g.requests)
				}
			})
		}
	}
}

// No guard applies to the plugin's own version or to verbs that only convert files, because neither
// involves a cluster.
func TestGuardsDoNotApplyWithoutACluster(t *testing.T) {
	noCluster(t)
	t.Setenv("KUBECTL_K8SCONNECT_EXPECT_CONTEXT", "prod")
	write(t, "apps.yaml", "kind: Application")
	if code, _, stderr := call(t, "config", "import", "--argocd=apps.yaml"); code != verb.ExitYes {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	if code, _, stderr := call(t, "version", "--client"); code != verb.ExitYes {
		t.Errorf("exit status %d: %s", code, stderr)
	}
}

package input

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// configMaps serves ConfigMaps, each as it is asked for, and tells what was asked.
type configMaps struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	// sick: it does not say what it serves. silent: nor does it answer, until that is closed.
	sick   bool
	silent chan struct{}
}

func newConfigMaps(t *testing.T) *configMaps {
	t.Helper()
	s := &configMaps{asked: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *configMaps) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.asked[req.Method+" "+req.URL.Path]++
	s.mu.Unlock()
	if s.silent != nil {
		<-s.silent
	}
	var answer any
	name, isObject := strings.CutPrefix(req.URL.Path, "/api/v1/namespaces/shop/configmaps/")
	switch {
	case s.sick:
		// Both are asked at once, and the answer to one of them ends the other.
		for s.times("GET /api") != s.times("GET /apis") && req.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		http.Error(w, "sick", http.StatusForbidden)
		return
	case req.URL.Path == "/api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case req.URL.Path == "/apis":
		apps := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
		answer = metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"},
			Groups:   []metav1.APIGroup{{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{apps}, PreferredVersion: apps}},
		}
	case req.URL.Path == "/api/v1", req.URL.Path == "/apis/apps/v1":
		gv := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/apis/"), "/api/")
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv,
			APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		}
	case isObject:
		answer = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1"}}
	default:
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *configMaps) times(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[request]
}

// awaits fails the test if a request does not come.
func (s *configMaps) awaits(t *testing.T, request string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.times(request) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s was not sent; these were: %v", request, s.asked)
		}
	}
}

// connect returns a connection to the server, and how a verb uses it.
func (s *configMaps) connect(t *testing.T, args ...string) (*connection.Connection, func() (*cluster.Client, error)) {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server:                   s.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "t"}
	config.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "u", Namespace: "shop"}
	config.CurrentContext = "c"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	c := connection.New(redact.NewVault())
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.AddFlags(flags)
	args = append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir(), "--server-timeout=1s"}, args...)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c, sync.OnceValues(func() (*cluster.Client, error) { return c.Connect(t.Context(), "", 0, func(event.Event) {}) })
}

// large is an input that takes a while to decode, with that many ConfigMaps.
func large(t *testing.T, n int, more string) Options {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a%d\n", i)
	}
	text.WriteString(strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 200) + more)
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{}
	o.Files.Filenames = []string{path}
	return o
}

var nowhere = genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}

func ignore(event.Event) {}

// Objects of a large input are read while it is decoded, and once.
func TestReadWhileDecoded(t *testing.T) {
	server := newConfigMaps(t)
	c, connect := server.connect(t)
	const n = 3
	o := large(t, n, "")
	o.Early = connect
	if err := o.Read(t.Context(), c, nowhere, ignore); err != nil {
		t.Fatal(err)
	}
	for i := range n { // Nobody has asked for a plan yet.
		server.awaits(t, fmt.Sprintf("GET /api/v1/namespaces/shop/configmaps/a%d", i))
	}
	client, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Plan(t.Context(), c, client, predict.Predictor{Manager: "m"}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	var predictor predict.Predictor
	done := o.Types(t.Context(), client, p, &predictor)
	defer done()
	var refs []object.Ref
	for _, item := range p.Phases[0].Items {
		refs = append(refs, item.Ref)
	}
	seen := 0
	o.Ahead().Live(t.Context(), p.Phases[0].Items[0].Kind, refs, func(i int, live *unstructured.Unstructured, err error) {
		if err != nil || live.GetName() != refs[i].Name {
			t.Errorf("%s: %v, %v", refs[i], live, err)
		}
		seen++
	})
	if seen != n {
		t.Errorf("%d objects were seen", seen)
	}
	for i := range n {
		if times := server.times(fmt.Sprintf("GET /api/v1/namespaces/shop/configmaps/a%d", i)); times != 1 {
			t.Errorf("a%d was read %d times", i, times)
		}
	}
}

// Nothing is read early where a verb does not allow it, or where most may not be meant.
func TestReadOnlyLater(t *testing.T) {
	server := newConfigMaps(t)
	c, connect := server.connect(t)
	for name, change := range map[string]func(*Options){
		"not allowed": func(o *Options) { o.Early = nil },
		"selected":    func(o *Options) { o.Files.Selector = "a!=b" },
		"offline":     func(o *Options) { o.Offline = true },
	} {
		o := large(t, 3, "")
		o.Early = connect
		change(&o)
		if err := o.Read(t.Context(), c, nowhere, ignore); err != nil {
			t.Fatal(err)
		}
		if o.glanced != nil {
			t.Errorf("%s: something was begun", name)
		}
	}
}

// A broken input is reported as it is without a server, and what was begun has ended.
func TestReadWhileBroken(t *testing.T) {
	server := newConfigMaps(t)
	c, connect := server.connect(t)
	o := large(t, 3, "---\nkind: {\n")
	without := o
	o.Early = connect
	err, want := o.Read(t.Context(), c, nowhere, ignore), without.Read(t.Context(), c, nowhere, ignore)
	if err == nil || err.Error() != want.Error() {
		t.Errorf("%v\nwithout a glance: %v", err, want)
	}
	if e, _ := o.glanced.result(); e != nil {
		e.reader.Live(t.Context(), object.Kind{}, nil, nil) // It must not be waited for.
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	for request := range server.asked {
		if !strings.HasPrefix(request, "GET ") {
			t.Error(request)
		}
	}
}

// A broken input is reported at once, whatever the server does: nothing of it is waited for.
func TestBrokenBesideASilentServer(t *testing.T) {
	for name, args := range map[string][]string{
		"by an empty cache": {"--server-timeout=10m"},
		"guarded":           {"--server-timeout=10m", "--expect-cluster=u"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newConfigMaps(t)
			server.silent = make(chan struct{})
			t.Cleanup(func() { close(server.silent) }) // It is closed itself after that.
			c, connect := server.connect(t, args...)
			o := large(t, 3, "---\nkind: {\n")
			o.Early = connect
			if err := o.Read(t.Context(), c, nowhere, ignore); err == nil || !strings.Contains(err.Error(), "not YAML") {
				t.Error(err)
			}
		})
	}
}

// Hooks that are left out are not read, and not what a guard has not let through.
func TestReadOnlyWhatIsMeant(t *testing.T) {
	server := newConfigMaps(t)
	hook := "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations:\n    helm.sh/hook: pre-install\n"
	for name, args := range map[string][]string{"a hook": nil, "another cluster": {"--expect-cluster=another"}} {
		c, connect := server.connect(t, args...)
		o := large(t, 1, hook)
		o.Early = connect
		if err := o.Read(t.Context(), c, nowhere, ignore); err != nil {
			t.Fatal(err)
		}
		if e, _ := o.glanced.result(); (e != nil) != (args == nil) {
			t.Errorf("%s: begun: %v", name, e != nil)
		}
		o.glanced.close()
	}
	if n := server.times("GET /api/v1/namespaces/shop/configmaps/hook"); n != 0 {
		t.Errorf("the hook was read %d times", n)
	}
}

// A server that does not say what it serves is asked about that once, however early.
func TestKindsAreAskedForOnce(t *testing.T) {
	times := func(text func(t *testing.T) Options) (int, error) {
		server := newConfigMaps(t)
		server.sick = true
		c, connect := server.connect(t)
		o := text(t)
		o.Early = connect
		if err := o.Read(t.Context(), c, nowhere, ignore); err != nil {
			t.Fatal(err)
		}
		client, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Plan(context.Background(), c, client, predict.Predictor{Manager: "m"}, ignore)
		return server.times("GET /apis"), err
	}
	early, err := times(func(t *testing.T) Options { return large(t, 3, "") })
	later, _ := times(func(t *testing.T) Options {
		o := large(t, 3, "")
		o.Files.Selector = "a!=b"
		return o
	})
	if err == nil || early != later {
		t.Errorf("%d questions instead of %d: %v", early, later, err)
	}
}

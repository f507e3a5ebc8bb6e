package tracker_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// patience allows for a busy machine.
const patience = 10 * time.Minute

// shared is the cluster of all tests that do not stop theirs; they run sequentially.
var shared cluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// world is a cluster with writers.
type world struct {
	*cluster.Cluster
	// own is the checkpoint's namespace, which is not tracked; work is the namespace of written
	// objects. No other test uses them.
	own, work string
	config    *rest.Config
	dynamic   dynamic.Interface
	typed     kubernetes.Interface
}

func newWorld(t *testing.T, c *cluster.Cluster) *world {
	t.Helper()
	c.OwnOnly(t)
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	w := &world{Cluster: c, own: name + "-release", work: name + "-work", config: config, dynamic: dynamic.NewForConfigOrDie(config), typed: kubernetes.NewForConfigOrDie(config)}
	for _, name := range []string{w.own, w.work} {
		w.apply(t, "admin", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, name))
	}
	return w
}

// apply applies by force, and returns the result.
func (w *world) apply(t *testing.T, manager string, resource schema.GroupVersionResource, namespace, yaml string, dryRun ...string) *unstructured.Unstructured {
	t.Helper()
	u := fieldstest.Read(t, yaml)
	out, err := w.dynamic.Resource(resource).Namespace(namespace).Apply(t.Context(), u.GetName(), u,
		metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// set sets key k of a ConfigMap as a manager.
func (w *world) set(t *testing.T, manager, name, value string, dryRun ...string) *unstructured.Unstructured {
	t.Helper()
	return w.apply(t, manager, configMaps, w.work, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {k: %q}}`, name, value), dryRun...)
}

// replica is a running tracker with its sink.
type replica struct {
	*tracker.Tracker
	*sink
	stop func()
}

// track starts a tracker, and returns when it has listed everything.
func (w *world) track(t *testing.T, lead bool, more ...func(*tracker.Options)) *replica {
	t.Helper()
	r := w.start(t, lead, more...)
	eventually(t, "ready", r.Ready)
	return r
}

func (w *world) start(t *testing.T, lead bool, more ...func(*tracker.Options)) *replica {
	t.Helper()
	s := &sink{work: w.work}
	opts := tracker.Options{
		Metadata: metadata.NewForConfigOrDie(w.config), Discovery: w.typed.Discovery().(tracker.Discovery), ConfigMaps: w.typed.CoreV1().ConfigMaps(w.own),
		Sink: s, Log: testr.New(t), ExcludeNamespaces: []string{w.own, "kube-system"},
		Grace: 300 * time.Millisecond, StoreEvery: 300 * time.Millisecond,
	}
	for _, change := range more {
		change(&opts)
	}
	tr, err := tracker.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx) }()
	r := &replica{Tracker: tr, sink: s, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(r.stop)
	tr.Lead(lead)
	return r
}

// as runs a tracker as another user.
func (w *world) as(t *testing.T, user string) func(*tracker.Options) {
	t.Helper()
	path, err := w.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *tracker.Options) { o.Metadata = metadata.NewForConfigOrDie(config) }
}

// sink stores the reports.
type sink struct {
	work string // namespace

	mu       sync.Mutex
	reported []ownership.Occurrence
	// A deaf sink writes nothing: its reports stay unsettled.
	deaf    bool
	settled int
	gaps    int
	live    func(types.UID) (ownership.Owners, string, bool)
}

func (s *sink) Record(o ownership.Occurrence, settled func(ownership.Outcome)) {
	if settled == nil { // counted and logged, but not recorded
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, o)
	if !s.deaf {
		go func() {
			settled(ownership.OutcomeRecorded)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.settled++
		}()
	}
}

func (s *sink) Gap(_ context.Context, live func(types.UID) (ownership.Owners, string, bool)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps++
	s.live = live
	return nil
}

// lines returns the reports on the namespace's objects, sorted.
func (s *sink) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, o := range s.reported {
		if o.Object.Namespace != s.work {
			continue
		}
		line := o.Object.Kind + "/" + o.Object.Name + ": " + o.String()
		if o.User != "" {
			line += " as " + o.User
		}
		if o.Gap {
			line += ", gap"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func (s *sink) gapsReported() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gaps
}

// expect waits for exactly these lines.
func (s *sink) expect(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	deadline := time.Now().Add(patience)
	for {
		diff := cmp.Diff(want, s.lines())
		if diff == "" {
			return
		}
		if time.Now().After(deadline) || len(s.lines()) > len(want) {
			t.Fatalf("reported (-want +got):\n%s", diff)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// expectEach waits for these lines, each at least once, and for no others.
func (s *sink) expectEach(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	var diff string
	eventually(t, "told each", func() bool {
		got := slices.Compact(s.lines())
		diff = cmp.Diff(want, got)
		return len(got) >= len(want)
	})
	if diff != "" {
		t.Fatalf("reported (-want +got):\n%s", diff)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("never %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func contains(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

// forget drops the sink's reports.
func (s *sink) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported, s.settled = nil, 0
}

// settledAll reports whether all reports are written.
func (s *sink) settledAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled == len(s.reported)
}

package records_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// scribe is a running recorder with its log.
type scribe struct {
	*recorder.Recorder
	pending atomic.Int64
	mu      sync.Mutex
	message bytes.Buffer
}

// Write implements io.Writer for the log.
func (s *scribe) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.message.Write(text)
}

func (s *scribe) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.message.String()
}

// report reports occurrences to the recorder.
func (s *scribe) report(occurrences []ownership.Occurrence) {
	for _, o := range occurrences {
		s.pending.Add(1)
		s.Record(o, func(ownership.Outcome) { s.pending.Add(-1) })
	}
}

// settle waits until every report is written.
func (s *scribe) settle(t *testing.T) {
	t.Helper()
	eventually(t, "all is settled", func() bool { return s.pending.Load() == 0 })
}

// record starts a recorder, which stops when the test ends.
func (l *lab) record(t *testing.T, o recorder.Options) *scribe {
	t.Helper()
	s := &scribe{}
	o.Namespace, o.WritesPerSecond = release, 100
	o.Log = slog.New(slog.NewTextHandler(s, nil))
	s.Recorder = recorder.New(l.store, o)
	s.Lead(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

// recordOf returns the record of an object, or nil.
func (s *subject) recordOf(t *testing.T) *ownership.Record {
	t.Helper()
	empty := ownership.NewRecord(s.object(), release)
	r, err := s.l.store.Get(t.Context(), empty.Namespace, empty.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Takeovers are recorded, shown by kubectl in a table and in the record, and garbage-collected with
// the object, namespaced or not.
func TestRecord(t *testing.T) {
	l := newLab(t)
	l.namespace(t, "prod")
	s := l.record(t, recorder.Options{Events: l.events(t)})
	tests := map[string]struct {
		subject *subject
		path    string
	}{
		"namespaced":     {l.configMap(t, "prod", "settings"), ".data.a"},
		"cluster-scoped": {l.priorityClass(t, "urgent"), ".description"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s.report(tt.subject.apply(t, "flux", "1"))
			s.settle(t)
			r := tt.subject.recordOf(t)
			if r == nil || len(r.Entries) == 0 {
				t.Fatalf("record %+v", r)
			}
			if got, want := r.Entries[0].String(), tt.path+" taken from first (Apply) by flux (Apply)"; got != want {
				t.Errorf("first entry is %s, want %s", got, want)
			}
			table := l.kubectl(t, "", "get", "owr", "-n", r.Namespace, r.Name, "-o", "wide")
			for _, want := range []string{"LAST PATH", r.Entries[len(r.Entries)-1].Path, tt.subject.live.GetName(), "taken", "first", "flux", "flux@example.com"} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is not in the table:\n%s", want, table)
				}
			}
			described := func(takeovers ...string) func() bool {
				return func() bool {
					text := l.kubectl(t, "", "describe", tt.subject.kind.Resource, tt.subject.live.GetName(), "-n", tt.subject.live.GetNamespace())
					return strings.Contains(text, "FieldOwnershipTaken") &&
						!slices.ContainsFunc(takeovers, func(s string) bool { return !strings.Contains(text, tt.path+s) })
				}
			}
			first := " taken from first (Apply) by flux (Apply)"
			eventually(t, "the Event is there", described(first))
			// Soon after, and in more than the count of the first entry.
			s.report(tt.subject.apply(t, "helm", "2"))
			s.settle(t)
			eventually(t, "both Events are there", described(first, " taken from flux (Apply) by helm (Apply)"))
			tt.subject.delete(t)
			eventually(t, "the record is collected", func() bool { return tt.subject.recordOf(t) == nil })
		})
	}
	if text := s.log(); text != "" {
		t.Errorf("the recorder logged: %s", text)
	}
}

func (l *lab) events(t *testing.T) recorder.Events {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	t.Cleanup(broadcaster.Shutdown)
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "k8sconnect"})
}

// Two recorders that write the same records in parallel count everything once, whether both or only
// one of them knows it.
func TestTwoWriters(t *testing.T) {
	l := newLab(t)
	l.namespace(t, "fight")
	one, two := l.record(t, recorder.Options{}), l.record(t, recorder.Options{})
	subjects := make([]*subject, 5)
	for i := range subjects {
		subjects[i] = l.configMap(t, "fight", fmt.Sprint("s", i))
	}
	const rounds = 12
	for n := range rounds {
		for _, s := range subjects {
			happened := s.apply(t, []string{"flux", "argo"}[n%2], fmt.Sprint(n+1))
			hintless := make([]ownership.Occurrence, len(happened))
			for i, o := range happened {
				o.User, o.Kind, o.Forced = "", ownership.Lost, false
				hintless[i] = o
			}
			if n%3 == 0 { // as if each had admitted some of the writes
				happened, hintless = hintless, happened
			}
			one.report(happened)
			two.report(hintless)
		}
	}
	one.settle(t)
	two.settle(t)
	for _, s := range subjects {
		r := s.recordOf(t)
		// From first to flux, then between flux and argo.
		if len(r.Entries) != 4 || r.Entries[0].Count+r.Entries[2].Count != rounds || r.Entries[1].Count+r.Entries[3].Count != rounds {
			t.Errorf("%s: %+v", r.Object.Name, r.Entries)
		}
		for _, e := range r.Entries {
			if e.User != e.To[0].Manager+"@example.com" || e.Kind != ownership.Taken {
				t.Errorf("%s: user is %q", e, e.User)
			}
		}
	}
}

// A record that is refused, because of missing rights or a quota, is kept, reported once, and
// written as soon as possible.
func TestRefused(t *testing.T) {
	l := newLab(t)
	l.OwnOnly(t)
	l.namespace(t, "refused")
	tests := map[string]struct{ forbid, allow func(t *testing.T) }{
		"rights": {
			forbid: func(t *testing.T) {
				kubeconfig, err := l.KubeconfigFor("webhook")
				if err != nil {
					t.Fatal(err)
				}
				l.connect(t, kubeconfig)
			},
			allow: func(t *testing.T) {
				l.kubectl(t, "", "create", "clusterrole", "recorder", "--verb=get,create,update,list", "--resource=ownershiprecords.ownership.k8sconnect.io")
				l.kubectl(t, "", "create", "clusterrolebinding", "recorder", "--clusterrole=recorder", "--user=webhook")
			},
		},
		"quota": {
			forbid: func(t *testing.T) {
				l.kubectl(t, "", "create", "quota", "none", "-n", "refused", "--hard=count/ownershiprecords.ownership.k8sconnect.io=0")
				l.kubectl(t, "", "wait", "quota/none", "-n", "refused", "--for=jsonpath={.status.hard}")
			},
			allow: func(t *testing.T) { l.kubectl(t, "", "delete", "quota", "none", "-n", "refused") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l.connect(t, l.KubeconfigPath)
			subject := l.configMap(t, "refused", name)
			happened := subject.apply(t, "flux", "1")
			tt.forbid(t)
			s := l.record(t, recorder.Options{})
			s.report(happened)
			eventually(t, "it complains", func() bool { return strings.Contains(s.log(), "forbidden") })
			time.Sleep(2 * time.Second) // retried meanwhile
			if n := s.pending.Load(); n != int64(len(happened)) {
				t.Errorf("%d of %d are pending", n, len(happened))
			}
			tt.allow(t)
			s.settle(t)
			l.connect(t, l.KubeconfigPath)
			if r := subject.recordOf(t); r == nil || len(r.Entries) != 2 {
				t.Errorf("record %+v", r)
			}
			if n := strings.Count(s.log(), "\n"); n != 1 {
				t.Errorf("%d lines:\n%s", n, s.log())
			}
		})
	}
}

// The records' definition may be created after the first takeover.
func TestNoDefinition(t *testing.T) {
	l := newLab(t)
	l.OwnOnly(t)
	l.namespace(t, "early")
	subject := l.configMap(t, "early", "a")
	happened := subject.apply(t, "flux", "1")
	l.kubectl(t, "", "delete", "--wait", "-f", definition())
	s := l.record(t, recorder.Options{})
	s.report(happened)
	eventually(t, "it complains", func() bool { return s.log() != "" })
	newLab(t)
	s.settle(t)
	if r := subject.recordOf(t); r == nil || len(r.Entries) != 2 {
		t.Errorf("record %+v", r)
	}
}

// If an object is gone, or its namespace is terminating or gone, its record is dropped silently,
// and nothing is left behind.
func TestGone(t *testing.T) {
	l := newLab(t)
	tests := map[string]func(t *testing.T, namespace string, s *subject){
		"object": func(t *testing.T, _ string, s *subject) { s.delete(t) },
		"namespace": func(t *testing.T, namespace string, _ *subject) {
			l.kubectl(t, "", "delete", "namespace", namespace, "--wait")
		},
		"namespace-terminating": func(t *testing.T, namespace string, _ *subject) {
			l.kubectl(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: "+namespace+", finalizers: [example.com/wait]}}", "apply", "--server-side", "-f", "-")
			l.kubectl(t, "", "delete", "namespace", namespace, "--wait=false")
			t.Cleanup(func() {
				l.kubectl(t, "", "patch", "configmap", "stays", "-n", namespace, "--type=json", `-p=[{"op": "remove", "path": "/metadata/finalizers"}]`)
			})
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := "gone-" + name
			l.namespace(t, namespace)
			subject := l.configMap(t, namespace, "a")
			happened := subject.apply(t, "flux", "1")
			end(t, namespace, subject)
			s := l.record(t, recorder.Options{})
			s.report(happened)
			s.settle(t)
			if text := s.log(); text != "" {
				t.Errorf("the recorder logged: %s", text)
			}
			eventually(t, "nothing is left", func() bool { return subject.recordOf(t) == nil })
		})
	}
}

// Changes in an unwatched period are recorded as their total.
func TestGap(t *testing.T) {
	l := newLab(t)
	l.namespace(t, "gap")
	subject := l.configMap(t, "gap", "a")
	s := l.record(t, recorder.Options{})
	s.report(subject.apply(t, "flux", "1"))
	s.settle(t)
	subject.apply(t, "argo", "2") // unseen by the replicas
	subject.apply(t, "helm", "3")
	live := func(uid types.UID) (ownership.Owners, string, bool) {
		return ownership.Compact(subject.live.GetManagedFields()), subject.live.GetResourceVersion(), uid == subject.live.GetUID()
	}
	for range 2 { // the second time, there is nothing to record
		if err := s.Gap(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
	r := subject.recordOf(t)
	if len(r.Entries) != 4 {
		t.Fatalf("record %+v", r.Entries)
	}
	for _, e := range r.Entries[2:] {
		if want := e.Path + " lost by flux (Apply) to helm (Apply)"; e.String() != want || !e.Gap || e.Count != 1 {
			t.Errorf("entry is %s, gap %v, count %d", e, e.Gap, e.Count)
		}
	}
}

// Uncontested writes cause no record, however many clients write (edge case 81).
func TestUncontested(t *testing.T) {
	l := newLab(t)
	l.namespace(t, "calm")
	s := l.record(t, recorder.Options{})
	for i := range 5 {
		subject := l.configMap(t, "calm", fmt.Sprint("s", i))
		for n := range 5 {
			s.report(subject.apply(t, "first", fmt.Sprint(n)))
		}
	}
	s.settle(t)
	list, err := l.Resource(recordsOf()).Namespace("calm").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%d records, %v, want none", len(list.Items), err)
	}
}

// Package records_test checks the promises of pkg/webhook/recorder with a real API server and its
// controllers: written records, parallel replicas, refusals, terminating objects, and cleanup.
package records_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// shared has controllers, which collect records and remove namespaces.
var shared = cluster.Shared{Options: cluster.Options{Controllers: true}}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Main(m))
}

// release is the namespace for records of cluster-scoped objects.
const release = "k8sconnect"

// patience allows for controllers.
const patience = 10 * time.Minute

// definition is the path of the records' definition.
func definition() string {
	return filepath.Join("..", "..", "..", "charts", "k8sconnect", "files", "ownershiprecords.yaml")
}

// lab is a cluster with the records' definition.
type lab struct {
	*cluster.Cluster
	dynamic.Interface
	store *webhook.Store
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Cluster: shared.Cluster(t)}
	l.kubectl(t, "", "apply", "--server-side", "-f", definition())
	l.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/ownershiprecords.ownership.k8sconnect.io")
	l.namespace(t, release)
	l.connect(t, l.KubeconfigPath)
	return l
}

// connect creates the lab's clients from a kubeconfig.
func (l *lab) connect(t *testing.T, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if l.store, err = webhook.NewStore(config); err != nil {
		t.Fatal(err)
	}
	if l.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
}

// namespace creates a namespace unless it exists.
func (l *lab) namespace(t *testing.T, name string) {
	t.Helper()
	l.kubectl(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}", "apply", "--server-side", "-f", "-")
}

// kubectl runs kubectl, and returns its output.
func (l *lab) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), l.Binary("kubectl"), append(args, "--kubeconfig", l.KubeconfigPath, "--cache-dir", t.TempDir())...)
	var out, diagnosis bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &diagnosis
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, diagnosis.String())
	}
	return out.String()
}

// subject is an object that managers write.
type subject struct {
	l    *lab
	kind schema.GroupVersionResource
	text string // %s stands for a value
	live *unstructured.Unstructured
}

func (l *lab) configMap(t *testing.T, namespace, name string) *subject {
	t.Helper()
	s := &subject{
		l: l, kind: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		text: "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: " + namespace + "}, data: {a: VALUE, b: VALUE}}",
	}
	s.apply(t, "first", "0")
	return s
}

func (l *lab) priorityClass(t *testing.T, name string) *subject {
	t.Helper()
	s := &subject{
		l: l, kind: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		text: "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: " + name + "}, value: 7, description: VALUE}",
	}
	s.apply(t, "first", "0")
	return s
}

// apply applies by force, and returns the transitions that a tracker would report.
func (s *subject) apply(t *testing.T, manager, value string) []ownership.Occurrence {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(s.text, "VALUE", "v"+value)), &u.Object); err != nil {
		t.Fatal(err)
	}
	now, err := s.l.Resource(s.kind).Namespace(u.GetNamespace()).Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	transitions, err := ownershiptest.Transitions(s.live, now)
	if err != nil {
		t.Fatal(err)
	}
	s.live = now
	var out []ownership.Occurrence
	for _, tr := range transitions {
		out = append(out, ownership.Occurrence{
			Object: s.object(), Transition: tr,
			Occasion: ownership.Occasion{ResourceVersion: now.GetResourceVersion(), Time: time.Now(), User: manager + "@example.com"},
		})
	}
	return out
}

func (s *subject) object() ownership.Object {
	u := s.live
	return ownership.Object{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()}
}

// delete deletes the object and waits until it is gone.
func (s *subject) delete(t *testing.T) {
	t.Helper()
	s.l.kubectl(t, "", "delete", s.kind.Resource, s.live.GetName(), "-n", s.live.GetNamespace(), "--wait")
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !cluster.Until(patience, is) {
		t.Fatalf("timed out after %s: %s", patience, what)
	}
}

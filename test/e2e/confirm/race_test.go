package confirm_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// While another client writes all the time, each write of a confirmed run follows from the plan: it
// changes the plan's old value into the new one, and no other manager owns the value. The audit log
// is the judge; the code that reads it shares nothing with the plugin.
func TestConfirmWithConcurrentWriter(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	users := map[string]string{}
	for _, user := range []string{"reviewed", "racer"} {
		kubeconfig, err := c.KubeconfigFor(user, "system:masters", cluster.AuditedBodies)
		if err != nil {
			t.Fatal(err)
		}
		users[user] = kubeconfig
	}
	log := &e2etest.Audit{Cluster: c}
	const objects = 8
	base, change := e2etest.File(t, e2etest.ConfigMaps(objects, 1, "1")), e2etest.File(t, e2etest.ConfigMaps(objects, 1, "2"))
	written, refused := 0, 0
	all := map[string][]version{}
	for i := range circle.Of(20, 1_000, 1_000) {
		from := log.Mark(t)
		began := time.Now()
		e2etest.Plugin(t, users["reviewed"], "apply", "-n", ns, "-f", base, "--take=all").Ends(t, 0)
		run := time.Since(began)
		plan := e2etest.Confirmable(t, c, "-n", ns, "-f", change)
		applied := log.Mark(t)
		stop := race(t, users["racer"], ns, objects, uint64(i), run)
		r := e2etest.Plugin(t, users["reviewed"], "apply", "-n", ns, "-f", change, "--confirm="+plan, "--continue-on-conflict", "-o", "json")
		stop()
		end := log.Mark(t)
		if strings.Contains(r.Stderr.String(), "nothing was written") {
			refused += objects
		} else {
			refused += objects - r.Report(t).Summary["configured"]
		}
		versionsIn(t, log.Events[from:applied], ns, false, all)
		versionsIn(t, log.Events[applied:end], ns, true, all)
		written += implied(t, all, plan)
		if t.Failed() {
			t.Fatalf("run %d: %s", i, r)
		}
	}
	t.Logf("%d objects were written, %d were not", written, refused)
	if written == 0 || refused == 0 {
		t.Error("want some objects written and some not: the writer was too slow or too fast")
	}
}

// race changes objects from a given moment on. Most of its changes do not affect the outcome.
func race(t *testing.T, kubeconfig, ns string, objects int, seed uint64, run time.Duration) (stop func()) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(ns)
	random := rand.New(rand.NewPCG(seed, 0))
	done := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		time.Sleep(time.Duration(random.Int64N(2 * int64(run))))
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(random.IntN(3)) * time.Millisecond):
			}
			name := fmt.Sprintf("cm-%04d", random.IntN(objects))
			patch := func(manager, text string) {
				_, _ = maps.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: manager})
			}
			switch random.IntN(20) {
			case 0: // another value
				patch("hotfix", `{"data":{"value":"9"}}`)
			case 1: // the value before, with another owner
				patch("hotfix", `{"data":{"value":null}}`)
				patch("hotfix", `{"data":{"value":"1"}}`)
			case 2, 3: // the plugin, run by another user: the server sees no conflict
				u := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": "5", "pad": "x"},
				}}
				_, _ = maps.Apply(t.Context(), name, u, metav1.ApplyOptions{FieldManager: "k8sconnect", Force: true})
			case 4: // another object
				_ = maps.Delete(t.Context(), name, metav1.DeleteOptions{})
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
				if random.IntN(2) == 0 {
					_, _ = maps.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "racer"})
				}
			default:
				patch("racer", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, random.Uint64()))
			}
		}
	})
	return func() { close(done); over.Wait() }
}

// version is an object after a write.
type version struct {
	number int
	code   int
	// confirmed reports whether the tested run wrote the version.
	confirmed bool
	value     string
	owners    []string
}

// implied returns the number of the run's writes, and fails the test for each write that does not
// follow from the plan. It keeps the last version of each object.
func implied(t *testing.T, all map[string][]version, plan string) (writes int) {
	t.Helper()
	var reviewed struct {
		Objects []struct {
			Name    string
			Changes []struct{ Path, From, To string }
		}
	}
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &reviewed); err != nil {
		t.Fatal(err)
	}
	planned := map[string]bool{}
	for _, o := range reviewed.Objects {
		versions := all[o.Name]
		slices.SortStableFunc(versions, func(a, b version) int { return a.number - b.number })
		for i, v := range versions {
			if !v.confirmed {
				continue
			}
			writes++
			if len(o.Changes) != 1 || v.code != 200 || i == 0 {
				t.Errorf("%s: unexpected write %+v for the planned changes %+v", o.Name, v, o.Changes)
				continue
			}
			last := versions[i-1]
			theirs := slices.DeleteFunc(slices.Clone(last.owners), func(owner string) bool { return owner == "k8sconnect" })
			if last.value != o.Changes[0].From || v.value != o.Changes[0].To || len(theirs) > 0 {
				t.Errorf("%s: the write changed %+v to %+v, want the planned change %+v", o.Name, last, v, o.Changes[0])
			}
		}
		planned[o.Name] = true
	}
	for name, versions := range all {
		if !planned[name] && slices.ContainsFunc(versions, func(v version) bool { return v.confirmed }) {
			t.Errorf("%s was written, but is not in the plan", name)
		}
		last := slices.MaxFunc(versions, func(a, b version) int { return a.number - b.number })
		last.confirmed = false
		all[name] = []version{last}
	}
	return writes
}

// versionsIn adds the logged versions of a namespace's ConfigMaps.
func versionsIn(t *testing.T, events []cluster.AuditEvent, ns string, confirmed bool, all map[string][]version) {
	t.Helper()
	for _, e := range events {
		if !slices.Contains([]string{"reviewed", "racer"}, e.User.Username) || // such as the controller of kube-root-ca.crt
			!slices.Contains([]string{"create", "update", "patch"}, e.Verb) || e.ResponseStatus.Code >= 300 ||
			strings.Contains(e.RequestURI, "dryRun=") || !strings.HasPrefix(e.RequestURI, "/api/v1/namespaces/"+ns+"/configmaps") {
			continue
		}
		var object struct {
			Metadata struct {
				Name            string
				ResourceVersion string
				ManagedFields   []struct {
					Manager  string
					FieldsV1 map[string]map[string]any
				}
			}
			Data map[string]string
		}
		if err := json.Unmarshal(e.ResponseObject, &object); err != nil {
			t.Fatalf("%s: %v", e.RequestURI, err)
		}
		number, err := strconv.Atoi(object.Metadata.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		v := version{number: number, code: e.ResponseStatus.Code, confirmed: confirmed && e.User.Username == "reviewed", value: object.Data["value"]}
		for _, m := range object.Metadata.ManagedFields {
			if _, owns := m.FieldsV1["f:data"]["f:value"]; owns {
				v.owners = append(v.owners, m.Manager)
			}
		}
		all[object.Metadata.Name] = append(all[object.Metadata.Name], v)
	}
}

// Two runs of one plan at the same time, such as a retry beside its first try, both succeed: what the other
// run has written is as reviewed.
func TestConfirmTwiceAtOnce(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	before, after := e2etest.ConfigMaps(40, 1, "1"), e2etest.ConfigMaps(40, 1, "2")
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, before)).Ends(t, 0)
	change := e2etest.File(t, after)
	plan := e2etest.File(t, e2etest.Plugin(t, c.KubeconfigPath, "diff", "-n", ns, "-f", change, "-o", "json").Ends(t, 1).Stdout.String())
	var runs []*e2etest.Run
	for range 2 {
		runs = append(runs, e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", change, "--confirm="+plan))
	}
	for _, r := range runs {
		r.Wait(t)
		r.Ends(t, 0)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "diff", "-n", ns, "-f", change).Ends(t, 0)
}

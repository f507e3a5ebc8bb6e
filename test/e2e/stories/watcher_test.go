package stories_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// reported is a line in a stream.
type reported struct {
	Type, Text string
	Object     struct{ Name, Result, Reason string }
}

// stream returns a run's lines so far, of one type and object; empty means any.
func (r *run) stream(t *testing.T, typ, name string) []reported {
	t.Helper()
	var lines []reported
	message := bufio.NewScanner(strings.NewReader(r.stdout.String()))
	message.Buffer(nil, 1<<20)
	for message.Scan() {
		var one reported
		if err := json.Unmarshal(message.Bytes(), &one); err != nil {
			continue // incomplete
		}
		if (typ == "" || one.Type == typ) && (name == "" || one.Object.Name == name) {
			lines = append(lines, one)
		}
	}
	return lines
}

// Story 5, the watcher: a controller author who builds on the watch layer.
func TestWatcher(t *testing.T) {
	t.Setenv("GOGC", "100") // with the users' memory limit
	c := shared.Cluster(t)
	c.OwnOnly(t)
	requests, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(requests.Close)
	kubeconfig, err := c.Kubeconfig(requests.URL())
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // reported as one
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "", "create", "namespace", "watched")
	settings := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("watched")
	set := func(name, key, value string) {
		t.Helper()
		patch := []byte(fmt.Sprintf(`{"data":{%q:%q}}`, key, value))
		if _, err := settings.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	// Objects without a generation; in the second circle, twenty megabytes in total.
	many := circle.Of(40, 400, 400)
	const each = 50_000
	var text strings.Builder
	for i := range many {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, namespace: watched, labels: {watched: 'yes'}}, data: {'n': '0', much: %s}}\n", i, strings.Repeat("x", each))
	}
	call(t, 0, kubeconfig, text.String(), "apply", "-f", "-")

	// They need one list and one watch. The first time, the server closes the watch, and the next
	// time it has forgotten its position; the run survives both.
	watch := func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }
	requests.Fail(1, watch, proxy.Fault{})
	requests.Fail(1, watch, proxy.Fault{Status: http.StatusGone})
	r := start(t, kubeconfig, "", "wait", "configmap", "-l", "watched=yes", "-n", "watched",
		"--for=self.data.n == 'done'", "-o", "stream", "--timeout=30m")
	watching := func() bool {
		n := 0
		for _, one := range requests.Requests() {
			if strings.Contains(one.URI, "watch=true") && strings.Contains(one.URI, "watched") && one.Status == http.StatusOK {
				n++
			}
		}
		return n > 0
	}
	until(t, "it watches", watching, r.stderr.String)
	until(t, "it has told of all", func() bool { return len(r.stream(t, "judged", "")) >= many }, r.stderr.String)

	// Existing objects are reported once, however often they are listed: only changes are reported
	// again.
	if n, m := len(r.stream(t, "awaited", "")), len(r.stream(t, "judged", "")); n != many || m != many {
		t.Errorf("%d objects were reported, and their state %d times, want %d each", n, m, many)
	}

	// A burst of fifty changes to one object is reported about once a second, and always with its
	// last state.
	began := time.Now()
	for i := range 50 {
		set("c-0", "n", strconv.Itoa(i+1))
	}
	until(t, "the last of them is told", func() bool { return strings.Contains(r.stdout.String(), `"self.data.n":"50"`) }, r.stderr.String)
	if n, most := len(r.stream(t, "judged", "c-0"))-1, int(time.Since(began).Seconds())+2; n > most {
		t.Errorf("a burst of fifty changes caused %d lines in %s", n, time.Since(began))
	}

	// A new object with the same name is recognized by its UID.
	named := start(t, kubeconfig, "", "wait", "configmap/c-1", "-n", "watched", "--for=self.data.n == 'done'", "-o", "stream", "--timeout=30m")
	until(t, "it knows the object", func() bool { return len(named.stream(t, "judged", "c-1")) > 0 }, named.stderr.String)
	kubectl(t, c, "", "delete", "configmap/c-1", "-n", "watched")
	kubectl(t, c, "", "create", "configmap", "c-1", "-n", "watched", "--from-literal=n=done")
	named.ends(t, 0)
	says(t, named.stdout.String(), "was replaced by another object of the same name", `"reason":"replaced during the wait"`)

	// Field selectors apply.
	says(t, call(t, 0, kubeconfig, "", "wait", "configmap", "--field-selector=metadata.name=c-1", "-n", "watched", "--for=self.data.n == 'done'").stdout.String(), "1 met")

	// Nothing is missed: all objects become done, and the deleted one does not count.
	for i := many - 1; i > 0; i-- {
		if i != 1 {
			set("c-"+strconv.Itoa(i), "n", "done")
		}
	}
	peak := highWater(t, r)
	set("c-0", "n", "done")
	r.ends(t, 0)
	if n := len(r.stream(t, "waited", "")); n != many {
		t.Errorf("%d objects have a result, want %d", n, many)
	}
	const bound = 150
	if peak > bound {
		t.Errorf("%d MB for %d MB of objects, want at most %d", peak, many*each>>20, bound)
	}
	t.Logf("%d MB", peak)

	// Permissions are checked first: a user who may not watch gets an explanation, and a user who
	// may not even get need not wait.
	for user, verbs := range map[string]string{"lister": "get,list", "getter": "get"} {
		kubectl(t, c, "", "create", "role", user, "-n", "watched", "--resource=configmaps", "--verb="+verbs)
		kubectl(t, c, "", "create", "rolebinding", user, "-n", "watched", "--role="+user, "--user="+user)
	}
	for user, says := range map[string]string{
		"lister": "you are not allowed to watch configmaps in namespace watched: they are listed every few seconds",
		"getter": "you are not allowed to list configmaps in namespace watched: they are read one by one every few seconds",
	} {
		kubectl(t, c, "", "create", "configmap", "of-"+user, "-n", "watched")
		theirs, err := c.KubeconfigFor(user)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, theirs, "", "wait", "configmap/of-"+user, "-n", "watched", "--for=jsonpath={.data.n}=done", "--timeout=30m")
		r.hears(t, says)
		set("of-"+user, "n", "done")
		if r.ends(t, 0); strings.Count(r.stderr.String(), "you are not allowed") != 1 {
			t.Errorf("the missing right is not reported exactly once: %s", &r.stderr)
		}
	}
	nobody, err := c.KubeconfigFor("nobody")
	if err != nil {
		t.Fatal(err)
	}
	says(t, call(t, 2, nobody, "", "wait", "configmap/c-0", "-n", "watched", "--for=create", "--timeout=30m").stdout.String(), "forbidden")
}

// highWater returns a run's peak resident memory so far in MB, or 0 if unknown.
func highWater(t *testing.T, r *run) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, _ := strconv.Atoi(value)
	return kb >> 10
}

package tracker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

const (
	// These environment variables configure the measured process.
	sizedServer = "TRACKER_SIZED_SERVER"
	sizedCount  = "TRACKER_SIZED_COUNT"
)

// A hundred thousand objects, half of them Pods, take less than 300 MB of resident memory at the
// peak. The test measures a whole process, which lists the objects from a generated server in
// another process.
func TestSize(t *testing.T) {
	circle.Full(t)
	for name, streams := range map[string]bool{"streamed": true, "paged": false} {
		t.Run(name, func(t *testing.T) { measure(t, generated{100_000, streams}, 300) })
	}
}

// The benchmark measures the memory for a million objects, and the time until every watch has
// begun. These are the figures in docs/design/webhook.md. The peak depends on the garbage
// collector, within GOMEMLIMIT.
func TestSizeOfAMillion(t *testing.T) {
	circle.Long(t)
	for name, streams := range map[string]bool{"streamed": true, "paged": false} {
		t.Run(name, func(t *testing.T) { measure(t, generated{1_000_000, streams}, 0) })
	}
}

// measure runs a process that tracks the server's objects. The test fails if the process needs more
// memory than mostMB, unless that is 0, or keeps more than 1.3 kB for each object.
func measure(t *testing.T, g generated, mostMB int) {
	server := httptest.NewServer(g)
	defer server.Close()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSizedProcess$", "-test.v", "-test.timeout=1h")
	child.Env = append(os.Environ(), "GOGC=100", sizedServer+"="+server.URL, sizedCount+"="+strconv.Itoa(g.objects))
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	noted := func(what string) int {
		_, text, _ := strings.Cut(string(out), what+": ")
		n, err := strconv.Atoi(strings.TrimSpace(strings.Split(text, "\n")[0]))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return n
	}
	t.Logf("%d objects: %d MB at the peak, %d MB afterwards; ready after %d ms, of %d ms of CPU time",
		g.objects, noted("peak kB")>>10, noted("later kB")>>10, noted("ready ms"), noted("cpu ms"))
	if peak := noted("peak kB"); mostMB > 0 && peak > mostMB<<10 {
		t.Errorf("%d MB, more than %d", peak>>10, mostMB)
	}
	if later := noted("later kB") * 1000 / g.objects; later > 1300 {
		t.Errorf("%d bytes an object", later)
	}
}

// TestSizedProcess is not a test of its own: it is the process that TestSize measures.
func TestSizedProcess(t *testing.T) {
	url := os.Getenv(sizedServer)
	if url == "" {
		t.Skip("for TestSize")
	}
	count, err := strconv.Atoi(os.Getenv(sizedCount))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	tr, err := New(Options{
		Metadata: metadata.NewForConfigOrDie(&rest.Config{Host: url, QPS: -1}), Discovery: podsAndMaps{}, ConfigMaps: noConfigMaps{}, Sink: nowhere{},
	})
	if err != nil {
		t.Fatal(err)
	}
	go tr.Run(t.Context())
	for !tr.Ready() {
		time.Sleep(50 * time.Millisecond)
	}
	ready := time.Since(began)
	tr.mu.Lock()
	objects := tr.objects()
	tr.mu.Unlock()
	if int(objects) != count {
		t.Errorf("%v objects are remembered", objects)
	}
	debug.FreeOSMemory() // what a quiet hour gives back
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	_, later, _ := strings.Cut(string(text), "VmRSS:")
	fmt.Println("peak kB:", strings.Fields(peak)[0])
	fmt.Println("later kB:", strings.Fields(later)[0])
	fmt.Println("ready ms:", ready.Milliseconds())
	fmt.Println("cpu ms:", cpuTime(t).Milliseconds())
	goruntime.KeepAlive(tr)
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	const user, system, tick = 11, 12, 10 * time.Millisecond // after the name, which may have spaces
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields, ticks := strings.Fields(rest), 0
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

type nowhere struct{}

func (nowhere) Record(_ ownership.Occurrence, settled func(ownership.Outcome)) {
	settled(ownership.OutcomeRecorded)
}

func (nowhere) Gap(context.Context, func(types.UID) (ownership.Owners, string, bool)) error {
	return nil
}

type noConfigMaps struct{ ConfigMaps }

func (noConfigMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

type podsAndMaps struct{}

func (podsAndMaps) ServerPreferredResourcesWithContext(context.Context) ([]*metav1.APIResourceList, error) {
	verbs := metav1.Verbs{"list", "watch"}
	return []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs}, {Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs},
	}}, {GroupVersion: "apps/v1"}}, nil
}

// generated is a server with the given number of objects. It answers in protobuf, as API servers
// answer metadata clients.
type generated struct {
	objects int
	streams bool
}

func (g generated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	whole, events := protobuf.NewSerializer(scheme, scheme), protobuf.NewRawSerializer(scheme, scheme)
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	query, generate := r.URL.Query(), generatedMap
	if strings.HasSuffix(r.URL.Path, "/pods") {
		generate = generatedPod
	}
	switch {
	case query.Get("sendInitialEvents") != "" && !g.streams:
		w.WriteHeader(http.StatusBadRequest)
		status := apierrors.NewBadRequest("no streams here").Status()
		encode(whole, &status, w)
	case query.Get("sendInitialEvents") != "":
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
		frames := protobuf.LengthDelimitedFramer.NewFrameWriter(w)
		send := func(kind watch.EventType, o metav1.PartialObjectMetadata) {
			var text bytes.Buffer
			o.TypeMeta = typeMeta("PartialObjectMetadata")
			encode(whole, &o, &text)
			encode(events, &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: text.Bytes()}}, frames)
		}
		for i := range g.objects / 2 {
			send(watch.Added, generate(i))
		}
		var end metav1.PartialObjectMetadata
		end.ResourceVersion, end.Annotations = "900000", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		send(watch.Bookmark, end)
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		page := g.page(query.Get("limit"), query.Get("continue"), generate)
		encode(whole, &page, w)
	}
}

func encode(s runtime.Encoder, o runtime.Object, w io.Writer) {
	if err := s.Encode(o, w); err != nil {
		panic(err)
	}
}

func (g generated) page(limit, next string, generate func(int) metav1.PartialObjectMetadata) metav1.PartialObjectMetadataList {
	size, _ := strconv.Atoi(limit)
	from, _ := strconv.Atoi(next)
	page := metav1.PartialObjectMetadataList{TypeMeta: typeMeta("PartialObjectMetadataList")}
	page.ResourceVersion = "900000"
	for i := from; i < min(from+size, g.objects/2); i++ {
		page.Items = append(page.Items, generate(i))
	}
	if from+size < g.objects/2 {
		page.Continue = strconv.Itoa(from + size)
	}
	return page
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind}
}

// generatedPod returns one of the fifty Pods of its ReplicaSet.
func generatedPod(i int) metav1.PartialObjectMetadata {
	o := generatedObject("pod", i)
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		generatedEntry("kube-controller-manager", "", fmt.Sprintf(`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"%036d\"}":{}}},"f:spec":{%s".":{}}}`, i/50, generatedContainer())),
		generatedEntry("kubelet", "status", fmt.Sprintf(`{"f:status":{"f:podIPs":{"k:{\"ip\":\"10.%d.%d.1\"}":{}}}}`, i/250, i%250)),
	}
	return o
}

var generatedContainer = sync.OnceValue(func() string {
	var text strings.Builder
	for c := range 40 {
		fmt.Fprintf(&text, `"f:field-of-a-container-%02d":{},`, c)
	}
	return text.String()
})

// generatedMap returns a ConfigMap with unique keys.
func generatedMap(i int) metav1.PartialObjectMetadata {
	o := generatedObject("map", i)
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		generatedEntry("helm", "", fmt.Sprintf(`{"f:data":{"f:a-key-%d":{},"f:another-key-%d":{}},"f:metadata":{"f:labels":{"f:app":{}}}}`, i, i)),
	}
	return o
}

func generatedObject(kind string, i int) metav1.PartialObjectMetadata {
	var o metav1.PartialObjectMetadata
	o.Name, o.Namespace = fmt.Sprintf("%s-of-some-length-%d", kind, i), fmt.Sprint("namespace-", i%100)
	o.UID, o.ResourceVersion = types.UID(fmt.Sprintf("%s-%032d", kind, i)), fmt.Sprint(100_000+i)
	o.Annotations = map[string]string{"some/annotation": strings.Repeat("x", 500)}
	return o
}

func generatedEntry(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(noon)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: "Update", APIVersion: "v1", Subresource: subresource, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

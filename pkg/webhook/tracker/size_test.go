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
)

const (
	sizedObjects = 100_000
	sizedServer  = "TRACKER_SIZED_SERVER" // the environment of the process that is measured
)

// A hundred thousand objects, half of them pods, take less than 300 MB of resident memory
// at the peak, measured for a whole process that lists them from a server. The server is
// generated, and runs in another process.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("lists 100,000 objects")
	}
	for name, streams := range map[string]bool{"streamed": true, "paged": false} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(generated{streams})
			defer server.Close()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSizedProcess$", "-test.v")
			child.Env = append(os.Environ(), sizedServer+"="+server.URL)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, text, _ := strings.Cut(string(out), "peak kB: ")
			peak, err := strconv.Atoi(strings.TrimSpace(strings.Split(text, "\n")[0]))
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%d objects: %d MB at the peak", sizedObjects, peak>>10)
			if peak > 300<<10 {
				t.Errorf("more than 300 MB")
			}
		})
	}
}

// TestSizedProcess is the process that TestSize measures.
func TestSizedProcess(t *testing.T) {
	url := os.Getenv(sizedServer)
	if url == "" {
		t.Skip("for TestSize")
	}
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
	tr.mu.Lock()
	objects := tr.objects()
	tr.mu.Unlock()
	if objects != sizedObjects {
		t.Errorf("%v objects are remembered", objects)
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	fmt.Println("peak kB:", strings.Fields(peak)[0])
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

// generated is a server with that many objects. It answers in protobuf, as API servers do
// to clients that ask for metadata.
type generated struct{ streams bool }

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
		for i := range sizedObjects / 2 {
			send(watch.Added, generate(i))
		}
		var end metav1.PartialObjectMetadata
		end.ResourceVersion, end.Annotations = "900000", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		send(watch.Bookmark, end)
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		page := page(query.Get("limit"), query.Get("continue"), generate)
		encode(whole, &page, w)
	}
}

func encode(s runtime.Encoder, o runtime.Object, w io.Writer) {
	if err := s.Encode(o, w); err != nil {
		panic(err)
	}
}

func page(limit, next string, generate func(int) metav1.PartialObjectMetadata) metav1.PartialObjectMetadataList {
	size, _ := strconv.Atoi(limit)
	from, _ := strconv.Atoi(next)
	page := metav1.PartialObjectMetadataList{TypeMeta: typeMeta("PartialObjectMetadataList")}
	page.ResourceVersion = "900000"
	for i := from; i < min(from+size, sizedObjects/2); i++ {
		page.Items = append(page.Items, generate(i))
	}
	if from+size < sizedObjects/2 {
		page.Continue = strconv.Itoa(from + size)
	}
	return page
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind}
}

// generatedPod is one of the fifty of its ReplicaSet.
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

// generatedMap has keys of its own.
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

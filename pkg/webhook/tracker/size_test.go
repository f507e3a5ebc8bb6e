package tracker

import (
	"context"
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

const (
	sizedObjects = 100_000
	sizedServer  = "TRACKER_SIZED_SERVER" // the environment of the process that is measured
)

// A hundred thousand objects, half of them pods, take less than 300 MB of resident
// memory at the peak: of a whole process that lists them from a server. The server
// is generated, and in another process.
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

// generated is a server of so many objects.
type generated struct{ streams bool }

func (g generated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query, enc := r.URL.Query(), json.NewEncoder(w)
	kind := generatedMap()
	if strings.HasSuffix(r.URL.Path, "/pods") {
		kind = generatedPod()
	}
	switch {
	case query.Get("sendInitialEvents") != "" && !g.streams:
		w.WriteHeader(http.StatusBadRequest)
		enc.Encode(apierrors.NewBadRequest("no streams here").Status())
	case query.Get("sendInitialEvents") != "":
		for i := range sizedObjects / 2 {
			fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", kind.object(i))
		}
		end := metav1.PartialObjectMetadata{TypeMeta: typeMeta("PartialObjectMetadata")}
		end.ResourceVersion, end.Annotations = "900000", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		enc.Encode(map[string]any{"type": "BOOKMARK", "object": end})
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		g.page(w, query.Get("limit"), query.Get("continue"), kind)
	}
}

func (g generated) page(w io.Writer, limit, next string, kind generatedKind) {
	size, _ := strconv.Atoi(limit)
	from, _ := strconv.Atoi(next)
	var more string
	if from+size < sizedObjects/2 {
		more = strconv.Itoa(from + size)
	}
	fmt.Fprintf(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"900000","continue":%q},"items":[`, more)
	for i := from; i < min(from+size, sizedObjects/2); i++ {
		if i > from {
			io.WriteString(w, ",")
		}
		w.Write(kind.object(i))
	}
	io.WriteString(w, "]}")
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind}
}

// generatedKind makes objects of a kind from their JSON, in which ⟨n⟩ stands for a number of
// the object, and ⟨group⟩ for one that fifty have in common: to generate a hundred thousand
// of them by field must not take longer than what is measured.
type generatedKind []string

func (k generatedKind) object(i int) json.RawMessage {
	var text strings.Builder
	for _, part := range k {
		switch part {
		case "n":
			fmt.Fprintf(&text, "%032d", i)
		case "group":
			fmt.Fprintf(&text, "%032d", i/50)
		default:
			text.WriteString(part)
		}
	}
	return json.RawMessage(text.String())
}

func generatedKindOf(name, resourceVersion string, entries ...metav1.ManagedFieldsEntry) generatedKind {
	o := metav1.PartialObjectMetadata{TypeMeta: typeMeta("PartialObjectMetadata")}
	o.Name, o.Namespace = name+"-of-some-length-⟨n⟩", "namespace-⟨group⟩"
	o.UID, o.ResourceVersion = types.UID(name+"-⟨n⟩"), resourceVersion
	o.Annotations = map[string]string{"some/annotation": strings.Repeat("x", 500)}
	o.ManagedFields = entries
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '⟨' || r == '⟩' })
}

// generatedPod is one of the fifty of its ReplicaSet.
var generatedPod = sync.OnceValue(func() generatedKind {
	spec := `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"⟨group⟩\"}":{}}},"f:spec":{`
	for c := range 40 {
		spec += fmt.Sprintf(`"f:field-of-a-container-%02d":{},`, c)
	}
	return generatedKindOf("pod", "100000",
		generatedEntry("kube-controller-manager", "", spec+`".":{}}}`),
		generatedEntry("kubelet", "status", `{"f:status":{"f:podIPs":{"k:{\"ip\":\"⟨n⟩\"}":{}}}}`))
})

// generatedMap has keys of its own.
var generatedMap = sync.OnceValue(func() generatedKind {
	return generatedKindOf("map", "100000",
		generatedEntry("helm", "", `{"f:data":{"f:a-key-⟨n⟩":{},"f:another-key-⟨n⟩":{}},"f:metadata":{"f:labels":{"f:app":{}}}}`))
})

func generatedEntry(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(noon)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: "Update", APIVersion: "v1", Subresource: subresource, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

package clientgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/clientgo"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// Three questions: who owns a field, what does an apply conflict with, and why is an object not
// ready?
func Example() {
	ctx, config, manifest := context.Background(), cluster(), decode(web)
	reader, err := clientgo.New(config)
	if err != nil {
		panic(err)
	}
	live, err := reader.Get(ctx, manifest.GroupVersionKind(), "shop", "web")
	if err != nil {
		panic(err)
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		panic(err)
	}
	fmt.Println(managedfields.Owners(entries, fieldpath.Field("spec", "replicas")))
	fmt.Println(noop.Evaluate(live, manifest, "ci"))
	fmt.Println(readiness.For(live.GroupVersionKind()).Evaluate(live.Object, time.Now()).Message)
	facts, err := unready.Gather(ctx, reader, live)
	if err != nil {
		panic(err)
	}
	for _, cause := range unready.Diagnose(facts) {
		fmt.Println(cause.Code, cause.Message)
	}
	// Output:
	// [kubectl (scale)] <nil>
	// contested [{.spec.replicas 3 1 true false [kubectl (scale)]}]
	// 0 of 1 replica is available
	// ConfigMapMissing pod/web-1-x -n shop: container app needs ConfigMap settings, which does not exist
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3}
`

// objects are the objects in the cluster.
const objects = `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
    uid: d
    generation: 1
    managedFields:
    - {manager: kubectl, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  spec: {replicas: 1, selector: {matchLabels: {app: web}}}
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1}
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: n}
  status: {conditions: [{type: Ready, status: "True"}]}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata:
    name: web-1
    namespace: shop
    uid: r
    labels: {app: web}
    ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]
  spec: {replicas: 1, selector: {matchLabels: {app: web}}}
  status: {replicas: 1}
- apiVersion: v1
  kind: Pod
  metadata:
    name: web-1-x
    namespace: shop
    uid: p
    labels: {app: web}
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]
  spec:
    nodeName: n1
    containers: [{name: app, image: web, envFrom: [{configMapRef: {name: settings}}]}]
  status:
    phase: Pending
    containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap "settings" not found'}}}]
`

func decode(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	return u
}

// cluster serves discovery, single objects and lists.
func cluster() *rest.Config {
	var found []*unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(objects), &found); err != nil {
		panic(err)
	}
	answers := map[string]any{
		"/api":  metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{group("apps")}},
	}
	for at, kinds := range map[string][]string{
		"/api/v1":       {"Pod", "Event", "ConfigMap", "Namespace", "Node", "Secret", "Service"},
		"/apis/apps/v1": {"Deployment", "ReplicaSet"},
	} {
		list := metav1.APIResourceList{GroupVersion: strings.SplitN(at, "/", 3)[2]}
		for _, kind := range kinds {
			plural := strings.ToLower(kind) + "s"
			namespaced := kind != "Namespace" && kind != "Node"
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list"}})
			items := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": list.GroupVersion, "kind": kind + "List"}}
			for _, u := range found {
				if u.GroupVersionKind() == schema.FromAPIVersionAndKind(list.GroupVersion, kind) {
					items.Items = append(items.Items, *u)
					answers[at+"/"+plural+"/"+u.GetName()], answers[at+"/namespaces/shop/"+plural+"/"+u.GetName()] = u, u
				}
			}
			answers[at+"/"+plural], answers[at+"/namespaces/shop/"+plural] = &items, &items
		}
		answers[at] = list
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	return &rest.Config{Host: server.URL}
}

func group(name string) metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
	return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
}

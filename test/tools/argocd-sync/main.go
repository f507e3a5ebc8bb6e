// Command argocd-sync synchronizes the objects of one Argo CD Application once, with Argo CD's own engine:
//
//	argocd-sync [-server-side] APPLICATION NAMESPACE FILE
//
// The engine compares, applies and prunes. This command does what the application controller does around it: it
// adds the tracking annotation, selects the live objects that carry it, and writes status.resources. The sources of
// the Application, projects, and automated syncs are left out.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	tracking = "argocd.argoproj.io/tracking-id"
	// manager is the field manager of a server-side sync (ArgoCDSSAManager in argoproj/argo-cd, common/common.go).
	manager  = "argocd-controller"
	patience = 2 * time.Minute
)

func main() {
	serverSide := flag.Bool("server-side", false, "sync option ServerSideApply=true")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, *serverSide, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "argocd-sync:", err)
		os.Exit(1)
	}
}

// info is what the cache keeps of a live object.
type info struct{ tracking string }

func run(ctx context.Context, serverSide bool, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: argocd-sync [-server-side] APPLICATION NAMESPACE FILE")
	}
	app, namespace := args[0], args[1]
	named := namespace + "_" + app // Argo CD itself runs in another namespace.
	text, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	targets, err := kube.SplitYAML(text)
	if err != nil {
		return err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	for _, target := range targets {
		target.SetNamespace(namespace)
		annotations := target.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = id(named, kube.GetResourceKey(target))
		target.SetAnnotations(annotations)
	}
	live := cache.NewClusterCache(config, cache.SetNamespaces([]string{namespace}), cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(u *unstructured.Unstructured, _ bool) (any, bool) {
			mark := u.GetAnnotations()[tracking]
			return &info{mark}, mark != ""
		}))
	e := engine.NewEngine(config, live, engine.WithLogr(logr.Discard()))
	stop, err := e.Run()
	if err != nil {
		return err
	}
	defer stop()
	// An annotation that was copied from another object does not select this one (isSelfReferencedObj in
	// argoproj/argo-cd, controller/state.go).
	isManaged := func(r *cache.Resource) bool {
		of, is := r.Info.(*info)
		return is && of.tracking == id(named, r.ResourceKey())
	}
	results, err := e.Sync(ctx, targets, isManaged, "revision", namespace, sync.WithPrune(true), sync.WithLogr(logr.Discard()),
		sync.WithServerSideApply(serverSide), sync.WithServerSideApplyManager(manager))
	for _, r := range results {
		fmt.Println(r.ResourceKey.String(), r.Status, r.Message)
		if r.Status == common.ResultCodeSyncFailed && err == nil {
			err = fmt.Errorf("%s: %s", r.ResourceKey, r.Message)
		}
	}
	if err != nil {
		return err
	}
	return report(ctx, config, app, namespace, targets, results)
}

func id(named string, key kube.ResourceKey) string {
	return fmt.Sprintf("%s:%s/%s:%s/%s", named, key.Group, key.Kind, key.Namespace, key.Name)
}

// report writes the objects that the Application manages to its status.
func report(ctx context.Context, config *rest.Config, app, namespace string, targets []*unstructured.Unstructured, results []common.ResourceSyncResult) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resources := []map[string]any{}
	listed := map[kube.ResourceKey]bool{}
	for _, target := range targets {
		gvk := target.GroupVersionKind()
		listed[kube.GetResourceKey(target)] = true
		resources = append(resources, map[string]any{
			"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind, "namespace": namespace, "name": target.GetName(), "status": "Synced",
		})
	}
	for _, r := range results {
		if !listed[r.ResourceKey] && r.Status == common.ResultCodePruneSkipped {
			resources = append(resources, map[string]any{
				"group": r.ResourceKey.Group, "version": r.Version, "kind": r.ResourceKey.Kind, "namespace": namespace, "name": r.ResourceKey.Name,
				"status": "OutOfSync", "requiresPruning": true,
			})
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"resources": resources}})
	if err != nil {
		return err
	}
	applications := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	_, err = client.Resource(applications).Namespace(namespace).Patch(ctx, app, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "argocd-application-controller"})
	return err
}

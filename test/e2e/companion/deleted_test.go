package companion_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// deleted returns what is recorded about the deletion of an object; the zero value if nothing.
func (c *client) deleted(t *testing.T, uid types.UID) ownership.Deletion {
	t.Helper()
	list, err := c.Resource(records).List(t.Context(), metav1.ListOptions{LabelSelector: ownership.DeletionLabel})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		var r ownership.Record
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &r); err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Deletions {
			if d.Object.UID == uid {
				return d
			}
		}
	}
	return ownership.Deletion{}
}

// fate is what the test compares of a deletion.
type fate struct {
	By        ownership.DeletionCause
	User, Via string
	Gone      bool
}

func fateOf(d ownership.Deletion) fate {
	via := ""
	if d.Via.Kind != "" {
		via = d.Via.Kind + "/" + d.Via.Name
	}
	return fate{d.By, d.User, via, !d.Gone.IsZero()}
}

func (c *client) awaitFate(t *testing.T, what string, uid types.UID, want fate) ownership.Deletion {
	t.Helper()
	var got ownership.Deletion
	defer func() {
		if diff := cmp.Diff(want, fateOf(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}()
	eventually(t, what, func() bool {
		got = c.deleted(t, uid)
		return got.By != "" && !got.Gone.IsZero() == want.Gone
	})
	return got
}

func configMap(namespace, name, more string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: " + namespace + more + "}, data: {a: b}}"
}

// Each of six deleters is recorded with what it is: a person, a deletecollection, the garbage
// collector, a namespace, a controller, and this plugin's prune.
func TestDeleted(t *testing.T) {
	jane := newClient(t, "jane@example.com")
	jane.namespace(t, "deleted")
	maps := jane.Resource(configMaps).Namespace("deleted")

	one := jane.apply(t, configMaps, configMap("deleted", "one", ""), "flux")
	jane.must(t, maps.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	person := fate{By: ownership.ByUser, User: "jane@example.com", Gone: true}
	if d := jane.awaitFate(t, "a person", one.GetUID(), person); len(d.Owners) != 1 || d.Owners[0].Manager != "flux" || d.Object.Name != "one" || d.Asked.IsZero() {
		t.Errorf("%+v", d)
	}

	var many []*unstructured.Unstructured
	for n := range 5 {
		many = append(many, jane.apply(t, configMaps, configMap("deleted", fmt.Sprint("many-", n), ", labels: {many: a}"), "helm"))
	}
	jane.must(t, maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "many=a"}))
	for _, o := range many {
		jane.awaitFate(t, "a deletecollection", o.GetUID(), person)
	}

	owner := jane.apply(t, configMaps, configMap("deleted", "owner", ""), "flux")
	owned := jane.apply(t, configMaps, configMap("deleted", "owned", ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: "+string(owner.GetUID())+"}]"), "flux")
	jane.must(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	jane.awaitFate(t, "an owner", owner.GetUID(), person)
	jane.awaitFate(t, "the garbage collector", owned.GetUID(), fate{By: ownership.ByOwner, Via: "ConfigMap/owner", Gone: true})

	astray := jane.apply(t, configMaps, configMap("deleted", "astray", ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nosuch, uid: nosuch}]"), "flux")
	jane.awaitFate(t, "the garbage collector, because of an owner that never existed", astray.GetUID(), fate{By: ownership.ByUnknown, Via: "ConfigMap/nosuch", Gone: true})

	jane.namespace(t, "going")
	inside := jane.apply(t, configMaps, configMap("going", "inside", ""), "flux")
	going, err := jane.Resource(namespaces).Get(t.Context(), "going", metav1.GetOptions{})
	jane.must(t, err)
	jane.must(t, jane.Resource(namespaces).Delete(t.Context(), "going", metav1.DeleteOptions{}))
	jane.awaitFate(t, "a namespace", going.GetUID(), person)
	jane.awaitFate(t, "an object in it", inside.GetUID(), fate{By: ownership.ByNamespace, Via: "Namespace/going", Gone: true})

	controller := newClient(t, "system:serviceaccount:kube-system:ttl-after-finished-controller")
	job := jane.apply(t, configMaps, configMap("deleted", "job", ""), "flux")
	jane.must(t, controller.Resource(configMaps).Namespace("deleted").Delete(t.Context(), "job", metav1.DeleteOptions{}))
	jane.awaitFate(t, "a controller", job.GetUID(), fate{By: ownership.ByController, User: "system:serviceaccount:kube-system:ttl-after-finished-controller", Gone: true})
}

// All controllers of Kubernetes are known. The control plane's own roles name them.
func TestControllersAreKnown(t *testing.T) {
	c := newClient(t, "")
	list, err := c.Resource(clusterRoles.GroupVersion().WithResource("clusterrolebindings")).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/bootstrapping=rbac-defaults"})
	c.must(t, err)
	known := 0
	for _, binding := range list.Items {
		subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
		for _, one := range subjects {
			name, _, _ := unstructured.NestedString(one.(map[string]any), "name")
			if !strings.HasPrefix(binding.GetName(), "system:controller:") {
				continue
			}
			known++
			if cause := ownership.CauseOf("system:serviceaccount:kube-system:" + name); cause == ownership.ByUser {
				t.Errorf("%s counts as a person", name)
			}
		}
	}
	if known < 30 {
		t.Errorf("%d controllers", known)
	}
}

// A deletion that is refused is not recorded, and one that a finalizer holds up is not reported as
// gone.
func TestDeletionAsked(t *testing.T) {
	jane, joe := newClient(t, "jane@example.com"), newClient(t, "joe@example.com")
	jane.namespace(t, "asked")
	maps := jane.Resource(configMaps).Namespace("asked")
	held := jane.apply(t, configMaps, configMap("asked", "held", ", finalizers: [example.com/wait]"), "flux")
	wrong := types.UID("another")
	err := joe.Resource(configMaps).Namespace("asked").Delete(t.Context(), "held", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	if err == nil {
		t.Fatal("a deletion with another UID is not refused")
	}
	dry := []string{metav1.DryRunAll}
	jane.must(t, joe.Resource(configMaps).Namespace("asked").Delete(t.Context(), "held", metav1.DeleteOptions{DryRun: dry}))
	jane.must(t, maps.Delete(t.Context(), "held", metav1.DeleteOptions{}))
	want := fate{By: ownership.ByUser, User: "jane@example.com"}
	jane.awaitFate(t, "asked", held.GetUID(), want)
	jane.must(t, joe.Resource(configMaps).Namespace("asked").Delete(t.Context(), "held", metav1.DeleteOptions{}))
	_, err = maps.Patch(t.Context(), "held", types.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`), metav1.PatchOptions{})
	jane.must(t, err)
	want.Gone = true
	jane.awaitFate(t, "gone", held.GetUID(), want)
}

// A replica that is killed loses no deletion: the next one sees it from the checkpoint.
func TestDeletedWhileDown(t *testing.T) {
	jane := newClient(t, "jane@example.com")
	jane.namespace(t, "down")
	var all []*unstructured.Unstructured
	for n := range 20 {
		all = append(all, jane.apply(t, configMaps, configMap("down", fmt.Sprint("x-", n), ""), "flux"))
	}
	shared.replica.Kill()
	for _, o := range all {
		jane.must(t, jane.Resource(configMaps).Namespace("down").Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	shared.replica, err = shared.webhook.Start(ctx)
	jane.must(t, err)
	for _, o := range all {
		jane.awaitFate(t, o.GetName(), o.GetUID(), fate{By: ownership.ByUnknown, Gone: true})
	}
}

func (*client) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The verb history finds an object that is gone, and lists deletions. Objects that went with a
// namespace share a line.
func TestHistoryOfDeleted(t *testing.T) {
	jane := newClient(t, "jane@example.com")
	jane.namespace(t, "told")
	one := jane.apply(t, configMaps, configMap("told", "one", ""), "flux")
	held := jane.apply(t, configMaps, configMap("told", "held", ", finalizers: [example.com/wait]"), "flux")
	for _, name := range []string{"one", "held"} {
		jane.must(t, jane.Resource(configMaps).Namespace("told").Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	jane.awaitFate(t, "one", one.GetUID(), fate{By: ownership.ByUser, User: "jane@example.com", Gone: true})
	jane.awaitFate(t, "held", held.GetUID(), fate{By: ownership.ByUser, User: "jane@example.com"})
	message, status := jane.plugin(t, "history", "cm/one", "-n", "told")
	jane.like(t, message, status, 0, `configmap/one -n told
  …Z  deleted  configmap/one -n told
      by the user jane@example.com
      last owners: flux (Apply)
`)
	message, status = jane.plugin(t, "owners", "cm/one", "-n", "told", "--history")
	jane.like(t, message, status, 0, `configmap/one -n told
  …Z  deleted  configmap/one -n told
      by the user jane@example.com
      last owners: flux (Apply)
`)
	for format, want := range map[string]string{
		"json": `"user": "jane@example.com"`, "yaml": "# configmap/one -n told\n# ", "html": "by the user jane@example.com",
	} {
		if message, status = jane.plugin(t, "owners", "cm/one", "-n", "told", "--history", "--path=.data", "-o", format); status != 0 || !strings.Contains(message, want) {
			t.Errorf("%s: status %d: %s", format, status, message)
		}
	}
	for _, args := range [][]string{{"cm/one"}, {"cm/one", "--history", "--since=1ms"}, {"cm/nosuch", "--history"}} {
		if message, status = jane.plugin(t, "owners", append(args, "-n", "told")...); status != 2 || !strings.Contains(message, "not found") {
			t.Errorf("%v: status %d: %s", args, status, message)
		}
	}
	jane.apply(t, configMaps, configMap("told", "one", ""), "flux") // again
	message, status = jane.plugin(t, "history", "cm/one", "-n", "told")
	jane.like(t, message, status, 0, `configmap/one -n told
  history
…
  …Z  deleted  configmap/one -n told
      by the user jane@example.com
      last owners: flux (Apply)
`)
	message, status = jane.plugin(t, "history", "--deleted", "-n", "told", "--since=1h")
	jane.like(t, message, status, 0, `…Z  deletion asked, not seen gone  configmap/held -n told
    by the user jane@example.com
    last owners: flux (Apply)
…Z  deleted  configmap/one -n told
    by the user jane@example.com
    last owners: flux (Apply)

2 deletions in the namespace told since …
watched since …
…
`)
	message, status = jane.plugin(t, "history", "cm/nosuch", "-n", "told")
	jane.like(t, message, status, 2, `configmap/nosuch -n told
  0 deletions
  watched since …
…
error: …"nosuch" not found
…
`)
	if message, status = jane.plugin(t, "history", "--deleted", "services", "-n", "told", "-o", "json"); status != 0 || !strings.Contains(message, `"deletions": []`) {
		t.Errorf("status %d: %s", status, message)
	}
	_, err := jane.Resource(configMaps).Namespace("told").Patch(t.Context(), "held", types.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`), metav1.PatchOptions{})
	jane.must(t, err)

	jane.namespace(t, "told-going")
	var inside []*unstructured.Unstructured
	for n := range 3 {
		inside = append(inside, jane.apply(t, configMaps, configMap("told-going", fmt.Sprint("x-", n), ""), "flux"))
	}
	jane.must(t, jane.Resource(namespaces).Delete(t.Context(), "told-going", metav1.DeleteOptions{}))
	for _, o := range inside {
		jane.awaitFate(t, "in a namespace", o.GetUID(), fate{By: ownership.ByNamespace, Via: "Namespace/told-going", Gone: true})
	}
	message, status = jane.plugin(t, "history", "--deleted", "-A", "--since=1h")
	if status != 0 || !strings.Contains(message, "  deleted  namespace/told-going\n    by the user jane@example.com, asked at ") ||
		!regexp.MustCompile(`(?m)^\S+Z  deleted  .*ConfigMaps?.*\n    with their namespace/told-going$`).MatchString(message) {
		t.Errorf("status %d: %s", status, message)
	}
	message, status = jane.plugin(t, "history", "cm/x-1", "-n", "told-going")
	if status != 0 || !strings.Contains(message, "with its namespace/told-going") {
		t.Errorf("status %d: %s", status, message)
	}
}

// like compares output with an expectation, in which … stands for anything within a line and, alone
// on a line, for any lines.
func (*client) like(t *testing.T, got string, status, wantStatus int, want string) {
	t.Helper()
	pattern := regexp.QuoteMeta(want)
	pattern = strings.ReplaceAll(pattern, "\n…\n", "\n(?:.*\n)*?")
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	if status != wantStatus || !regexp.MustCompile(`\A`+pattern+`\z`).MatchString(got) {
		t.Errorf("status %d, got:\n%s\nwant:\n%s", status, got, want)
	}
}

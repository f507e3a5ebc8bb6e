package companion_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// workload is one object with its history, as its writers know it.
type workload struct {
	*client
	users           map[string]*client
	r               *rand.Rand
	kind, plural    string
	namespace, name string
	paused, gave    bool
	// writes changed the template; all are the attempts to write anything.
	writes, all []write
	// rolled is how many writes there were when a revision was first seen.
	rolled map[int64]int
}

// write is a write that changed the template.
type write struct {
	user, manager, operation string
	from, to                 time.Time
	before, after            map[string]any
}

// In random histories of workloads, with several tools and users, the verb history names for each
// revision the paths that changed, their values, who wrote them and when, also if the webhook is
// killed. The judge is what the writers know. A name may be missing, but none may be wrong.
func TestRevisions(t *testing.T) {
	objects, steps := circle.Of(6, 36, 300), circle.Of(8, 12, 12)
	c := newClient(t, "")
	c.namespace(t, "revisions")
	users := map[string]*client{}
	for _, name := range []string{"jane", "joe", "ops"} {
		users[name] = newClient(t, name)
	}
	all := make([]*workload, objects)
	var group errgroup.Group
	group.SetLimit(6)
	seed := circle.Of(uint64(1), uint64(time.Now().UnixNano()), uint64(time.Now().UnixNano()))
	t.Logf("seed %d", seed)
	for i := range all {
		kind := []string{"Deployment", "StatefulSet", "DaemonSet"}[i%3]
		w := &workload{
			client: c, users: users, r: rand.New(rand.NewPCG(seed, uint64(i))), kind: kind, plural: strings.ToLower(kind) + "s",
			namespace: "revisions", name: fmt.Sprint(strings.ToLower(kind), "-", i), rolled: map[int64]int{},
		}
		all[i] = w
		group.Go(func() error { return w.live(t, steps) })
	}
	end := func() {}
	killed := circle.Of(false, true, true)
	if killed {
		end = killing(t)
	}
	c.must(t, group.Wait())
	end()
	writes := 0
	for _, w := range all {
		writes += len(w.writes) - 1 // not its creation
	}
	before, same := -1, 0
	eventually(t, "all writes are recorded, or those that are known after the kills", func() bool {
		list, err := c.Resource(records).Namespace("revisions").List(t.Context(), metav1.ListOptions{})
		c.must(t, err)
		recorded := 0
		for _, item := range list.Items {
			rollouts, _, _ := unstructured.NestedSlice(item.Object, "rollouts")
			recorded += len(rollouts)
		}
		if same++; recorded != before {
			before, same = recorded, 0
		}
		return recorded >= writes || killed && same > 100
	})
	t.Logf("%d of %d writes are recorded", before, writes)
	var sum, blind verdict
	c.kubectl(t, "create", "clusterrole", "blind", "--verb=get,list", "--resource=deployments.apps,statefulsets.apps,daemonsets.apps,replicasets.apps,controllerrevisions.apps")
	c.kubectl(t, "create", "clusterrolebinding", "blind", "--clusterrole=blind", "--user=blind")
	for _, w := range all {
		sum.add(w.judge(t))
		blind.add(w.judge(t, "--as=blind")) // who may not read records, and knows what managed fields prove
	}
	for name, v := range map[string]verdict{"with records": sum, "without": blind} {
		t.Logf("%s: %d revisions, %d changes: %d with their writer, %d with their user", name, v.revisions, v.changes, v.writers, v.users)
	}
	if sum.users*10 < sum.changes*circle.Of(7, 5, 5) || blind.writers == 0 || blind.users > 0 {
		t.Error("too little is named, or a user without a record")
	}
}

// killing kills the webhook's only replica again and again, until end is called.
func killing(t *testing.T) (end func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(8 * time.Second):
			}
			shared.replica.Kill()
			next, err := shared.webhook.Start(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Error(err)
				return
			}
			shared.replica = next
		}
	}()
	return func() { close(stop); <-done }
}

// live creates the object, and changes it step by step. Names are proven by times in whole seconds,
// so each step begins in a new second, unless several writes are made before the controller acts.
func (w *workload) live(t *testing.T, steps int) error {
	if err := w.step(t, "jane", tools[w.r.IntN(2)]); err != nil {
		return err
	}
	if err := w.await(t); err != nil {
		return err
	}
	for range steps {
		for range 1 + w.r.IntN(4)/3 {
			tool := tools[w.r.IntN(len(tools))]
			if err := w.step(t, []string{"jane", "joe", "ops"}[w.r.IntN(3)], tool); err != nil {
				return fmt.Errorf("%s: %s: %w", w.name, tool.manager, err)
			}
		}
		if err := w.await(t); err != nil {
			return err
		}
	}
	if w.paused {
		w.run("ops", "rollout", "resume")
		w.paused = false
	}
	return w.await(t)
}

// tool is a way to write a workload. It may fail, for example because there is nothing to undo.
type tool struct {
	manager, operation string
	write              func(w *workload, t *testing.T, user string) error
}

var tools = []tool{
	{"flux", "Apply", func(w *workload, t *testing.T, user string) error { return w.serverSide(t, user, "flux") }},
	{"kubectl-client-side-apply", "Update", func(w *workload, t *testing.T, user string) error {
		return w.run(user, "apply", "-f", w.file(t))
	}},
	{"k8sconnect", "Apply", func(w *workload, t *testing.T, user string) error {
		w.plugin(t, "apply", "-f", w.file(t), "--take=all", "--as="+user, "--as-group=system:masters")
		return nil
	}},
	{"kubectl-set", "Update", func(w *workload, _ *testing.T, user string) error {
		return w.run(user, "set", "image", w.kind+"/"+w.name, "app="+w.image())
	}},
	{"kubectl-set", "Update", func(w *workload, _ *testing.T, user string) error {
		return w.run(user, "set", "env", w.kind+"/"+w.name, []string{"A=1", "A=2", "B=1", "A-", "B-"}[w.r.IntN(5)])
	}},
	{"kubectl-edit", "Update", func(w *workload, t *testing.T, user string) error {
		return w.edit(t, user)
	}},
	{"kubectl-rollout", "Update", func(w *workload, _ *testing.T, user string) error {
		return w.run(user, "rollout", "restart", w.kind+"/"+w.name)
	}},
	{"kubectl", "Update", func(w *workload, _ *testing.T, user string) error {
		return w.run(user, "rollout", "undo", w.kind+"/"+w.name)
	}},
	{"kubectl", "Update", func(w *workload, _ *testing.T, user string) error {
		return w.run(user, "rollout", "undo", w.kind+"/"+w.name, fmt.Sprint("--to-revision=", 1+w.r.IntN(4)))
	}},
	{"keel", "Update", func(w *workload, t *testing.T, user string) error {
		patch := `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"` + w.image() + `"}]`
		_, err := w.as(w.users[user]).Patch(t.Context(), w.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "keel"})
		return err
	}},
	{"operator", "Update", func(w *workload, t *testing.T, user string) error { return w.update(t, user) }},
	{"", "", func(w *workload, _ *testing.T, user string) error { // changes no template
		return w.run(user, "annotate", w.kind+"/"+w.name, fmt.Sprint("note=", w.r.IntN(3)), "--overwrite")
	}},
	{"", "", func(w *workload, t *testing.T, _ string) error {
		w.gave = true
		w.plugin(t, "give", w.kind+"/"+w.name, "-n", w.namespace, `.spec.template.spec.containers[name="app"].image`, "--to=flux")
		return nil
	}},
	{"", "", func(w *workload, _ *testing.T, user string) error {
		if w.kind != "Deployment" {
			return nil
		}
		verb := "pause"
		if w.paused {
			verb = "resume"
		}
		w.paused = !w.paused
		return w.run(user, "rollout", verb, w.kind+"/"+w.name)
	}},
}

func (w *workload) step(t *testing.T, user string, tool tool) error {
	before, _, err := w.read(t)
	if err != nil {
		return err
	}
	from := time.Now()
	_ = tool.write(w, t, user) // Some writes are refused, such as an undo without an earlier revision.
	after, _, err := w.read(t)
	w.all = append(w.all, write{manager: tool.manager, from: from, to: time.Now()})
	if err != nil || textOf(before) == textOf(after) {
		return err
	}
	if tool.manager == "" {
		return fmt.Errorf("%s: its template changed", w.name)
	}
	w.writes = append(w.writes, write{user, tool.manager, tool.operation, from, time.Now(), before, after})
	return nil
}

// read returns the template, without one if there is no object.
func (w *workload) read(t *testing.T) (map[string]any, *unstructured.Unstructured, error) {
	u, err := w.as(w.client).Get(t.Context(), w.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &unstructured.Unstructured{Object: map[string]any{}}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
	return template, u, nil
}

func (w *workload) as(c *client) dynamic.ResourceInterface {
	return c.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: w.plural}).Namespace(w.namespace)
}

// await waits until the controller has acted on the template, and notes the new revisions.
func (w *workload) await(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		template, u, err := w.read(t)
		if err != nil {
			return err
		}
		kept, err := w.kept(ctx, u.GetUID())
		if err != nil {
			return err
		}
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		newest := int64(0)
		for number := range kept {
			newest = max(newest, number)
		}
		if newest > 0 && observed == u.GetGeneration() && (w.paused || textOf(kept[newest]) == textOf(template)) {
			for number := range kept {
				if _, known := w.rolled[number]; !known {
					w.rolled[number] = len(w.writes)
				}
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for second := time.Now().Unix(); time.Now().Unix() == second; {
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

func (w *workload) image() string { return fmt.Sprint("r.example/app:", w.r.IntN(4)) }

// manifest returns a random manifest.
func (w *workload) manifest() string {
	env := []string{"", ", env: [{name: A, value: '1'}]", ", env: [{name: A, value: '2'}, {name: B, value: '1'}]"}[w.r.IntN(3)]
	args := []string{"", ", args: [a]", ", args: [a, b]"}[w.r.IntN(3)]
	more := map[string]string{"Deployment": "replicas: 1, ", "StatefulSet": "serviceName: x, replicas: 1, ", "DaemonSet": ""}[w.kind]
	return "{apiVersion: apps/v1, kind: " + w.kind + ", metadata: {name: " + w.name + ", namespace: " + w.namespace + "}, spec: {" + more +
		"selector: {matchLabels: {app: " + w.name + "}}, template: {metadata: {labels: {app: " + w.name + "}}, spec: {containers: [{name: app, image: " +
		strconv.Quote(w.image()) + env + args + "}]}}}}"
}

func (w *workload) file(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	w.must(t, os.WriteFile(file, []byte(w.manifest()), 0o644))
	return file
}

func (w *workload) serverSide(t *testing.T, user, manager string) error {
	_, err := w.as(w.users[user]).Apply(t.Context(), w.name, fieldstest.Read(t, w.manifest()), metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// update writes the whole object, as a controller does.
func (w *workload) update(t *testing.T, user string) error {
	_, u, err := w.read(t)
	if err != nil || u.GetName() == "" {
		return err
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	app := containers[0].(map[string]any)
	if app["image"] = w.image(); w.r.IntN(2) == 0 {
		app["args"] = []any{fmt.Sprint(w.r.IntN(3))}
	}
	_ = unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers")
	_, err = w.as(w.users[user]).Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "operator"})
	return err
}

func (w *workload) run(user string, args ...string) error {
	return w.command(user, args...).Run()
}

func (w *workload) command(user string, args ...string) *exec.Cmd {
	if len(args) == 2 && args[0] == "rollout" {
		args = append(args, w.kind+"/"+w.name)
	}
	return exec.Command(w.Binary("kubectl"), append(args, "-n", w.namespace, "--as="+user, "--as-group=system:masters", "--kubeconfig", w.KubeconfigPath, "--cache-dir", w.Dir+"/kubectl-cache")...)
}

// edit changes the image, as a person does in an editor.
func (w *workload) edit(t *testing.T, user string) error {
	editor := filepath.Join(t.TempDir(), "editor")
	script := "#!/bin/sh\nsed -i 's|image: .*|image: " + w.image() + "|' \"$1\"\n"
	w.must(t, os.WriteFile(editor, []byte(script), 0o755))
	cmd := w.command(user, "edit", w.kind+"/"+w.name)
	cmd.Env = append(os.Environ(), "KUBE_EDITOR="+editor)
	return cmd.Run()
}

package rollouts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/rollouts"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func stamp(n int) string { return minute(n).Format(time.RFC3339) }

func object(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	return u
}

func deployment(template map[string]any, entries ...string) *unstructured.Unstructured {
	u := object("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: web, managedFields: [" +
		strings.Join(entries, ", ") + "]}, spec: {replicas: 1}}")
	u.Object["spec"].(map[string]any)["template"] = copied(template)
	return u
}

// entry is an owner that last wrote at a minute after noon.
func entry(manager, operation string, at int, fields string) string {
	return fmt.Sprintf("{manager: %s, operation: %s, apiVersion: apps/v1, time: %q, fieldsType: FieldsV1, fieldsV1: {'f:spec': %s}}", manager, operation, stamp(at), fields)
}

const (
	ownsImage   = `{'f:template': {'f:spec': {'f:containers': {'k:{"name":"app"}': {'f:image': {}}}}}}`
	ownsRestart = `{'f:template': {'f:metadata': {'f:annotations': {'f:kubectl.kubernetes.io/restartedAt': {}}}}}`
	ownsAll     = `{'f:replicas': {}, 'f:template': {'f:metadata': {'f:labels': {'f:app': {}}}, 'f:spec': {'f:containers': {'k:{"name":"app"}': {'.': {}, 'f:name': {}, 'f:image': {}, 'f:args': {}}}}}}`
)

// replicaSet keeps the template of a revision, and was created at that minute after noon.
func replicaSet(revision int, template map[string]any, earlier string) *unstructured.Unstructured {
	return keptSince(revision, revision, template, earlier)
}

func keptSince(created, revision int, template map[string]any, earlier string) *unstructured.Unstructured {
	u := object(fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-%d, namespace: shop, creationTimestamp: %q,
  annotations: {deployment.kubernetes.io/revision: "%d", deployment.kubernetes.io/revision-history: %q},
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}],
  managedFields: [{manager: kube-controller-manager, operation: Update, apiVersion: apps/v1, time: %q, fieldsType: FieldsV1, fieldsV1: {}}]}, spec: {}}`,
		created, stamp(created), revision, earlier, stamp(revision)))
	template = copied(template)
	if metadata, ok := template["metadata"].(map[string]any); ok {
		if labels, ok := metadata["labels"].(map[string]any); ok {
			labels["pod-template-hash"] = "abc"
		}
	}
	u.Object["spec"].(map[string]any)["template"] = template
	return u
}

// written changes the minute of the controller's last write.
func written(u *unstructured.Unstructured, at int) *unstructured.Unstructured {
	fields := u.GetManagedFields()
	fields[0].Time = &metav1.Time{Time: minute(at)}
	u.SetManagedFields(fields)
	return u
}

// pods returns a template with an image, some arguments and, unless it is 0, the minute of a
// restart.
func pods(image string, restarted int, args ...any) map[string]any {
	metadata := map[string]any{"labels": map[string]any{"app": "web"}}
	if restarted > 0 {
		metadata["annotations"] = map[string]any{"kubectl.kubernetes.io/restartedAt": stamp(restarted)}
	}
	app := map[string]any{"name": "app", "image": image}
	if len(args) > 0 {
		app["args"] = args
	}
	return map[string]any{"metadata": metadata, "spec": map[string]any{"containers": []any{app}}}
}

// lines formats a revision as "number reason of time" and below it "path: from > to by writer user".
func lines(all []event.Revision) []string {
	var out []string
	for _, r := range all {
		head := fmt.Sprintf("%d %s", r.Number, r.Reason)
		if r.Of != 0 {
			head += fmt.Sprintf(" of %d", r.Of)
		}
		if r.Number > 0 && r.Since < r.Number-1 {
			head += fmt.Sprintf(" since %d", r.Since)
		}
		if r.Time.IsZero() {
			head += ", time unknown"
		}
		if r.Live {
			head += ", live"
		}
		out = append(out, head)
		for _, c := range r.Changes {
			by := "?"
			if c.Writer != nil {
				by = c.Writer.String()
			} else if len(c.Owners) > 0 {
				by = fmt.Sprintf("? now %d", len(c.Owners))
			}
			path := strings.TrimPrefix(c.Path.String(), ".spec.template")
			out = append(out, strings.TrimRight(fmt.Sprintf("  %s: %v > %v by %s %s", path, c.From, c.To, by, c.User), " "))
		}
	}
	return out
}

const image = `.spec.containers[name="app"].image`

func TestRevisions(t *testing.T) {
	one, two, three := pods("1", 0), pods("2", 0), pods("3", 0)
	transition := func(at int, from, to, by, user string) event.Transition {
		return event.Transition{
			Path: ".spec.template" + image, Kind: "taken", Count: 1, First: minute(at), Last: minute(at), FromValue: from, ToValue: to,
			From: []managedfields.Owner{{Manager: "flux", Operation: "Apply"}}, To: []managedfields.Owner{{Manager: by, Operation: "Update"}}, User: user,
		}
	}
	restart := `.metadata.annotations: <nil> > map[kubectl.kubernetes.io/restartedAt:` + stamp(2) + `]`
	tests := map[string]struct {
		live     *unstructured.Unstructured
		kept     []*unstructured.Unstructured
		recorded []event.Transition
		want     []string
	}{
		"its last write is that of the revision": {
			live: deployment(two, entry("flux", "Apply", 2, ownsAll)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by flux (Apply)", "1 created"},
		},
		"it has written again since": {
			live: deployment(two, entry("flux", "Apply", 9, ownsAll)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by ? now 1", "1 created"},
		},
		"two owners": {
			live: deployment(two, entry("flux", "Apply", 2, ownsAll), entry("kubectl-set", "Update", 2, ownsImage)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by ? now 2", "1 created"},
		},
		"changed again since": {
			live: deployment(three, entry("flux", "Apply", 2, ownsAll)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, ""), replicaSet(3, three, "")},
			want: []string{"3 images, live", "  " + image + ": 2 > 3 by flux (Apply)", "2 images", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"a tool that owns only images": {
			live: deployment(two, entry("flux", "Apply", 1, `{'f:replicas': {}}`), entry("keel", "Update", 2, ownsImage)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 image-policy, live", "  " + image + ": 1 > 2 by keel (Update)", "1 created"},
		},
		"kubectl set image is no policy": {
			live: deployment(two, entry("kubectl-set", "Update", 2, ownsImage)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by kubectl-set (Update)", "1 created"},
		},
		"kubectl apply is no policy": {
			live: deployment(two, entry("flux", "Apply", 1, `{'f:replicas': {}}`), entry("kubectl-client-side-apply", "Update", 2, ownsImage)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by kubectl-client-side-apply (Update)", "1 created"},
		},
		"restart": {
			live: deployment(pods("1", 2), entry("kubectl-rollout", "Update", 2, ownsRestart)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, pods("1", 2), "")},
			want: []string{"2 restart, live", "  " + restart + " by kubectl-rollout (Update)", "1 created"},
		},
		"restart with another change": {
			live: deployment(pods("2", 2)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, pods("2", 2), "")},
			want: []string{"2 template, live", "  " + restart + " by ?", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"undo": {
			live: deployment(one, entry("kubectl", "Update", 3, ownsImage)),
			kept: []*unstructured.Unstructured{keptSince(1, 3, one, "1"), replicaSet(2, two, "")},
			want: []string{
				"3 undo of 1, time unknown, live", "  " + image + ": 2 > 1 by kubectl (Update)",
				"2 images", "  " + image + ": 1 > 2 by ?", "1 created",
			},
		},
		"undo twice": {
			live: deployment(one),
			kept: []*unstructured.Unstructured{keptSince(1, 5, one, "1,3"), keptSince(2, 4, two, "2")},
			want: []string{
				"5 undo of 3, time unknown, live", "  " + image + ": 2 > 1 by ?",
				"4 undo of 2, time unknown", "  " + image + ": 1 > 2 by ?",
				"3 undo of 1, time unknown", "  " + image + ": 2 > 1 by ?",
				"2 images", "  " + image + ": 1 > 2 by ?", "1 created",
			},
		},
		"undo, and a write of the same owner at the next revision": {
			live: deployment(pods("1", 0, "--debug"), entry("kubectl", "Update", 4, ownsAll)),
			kept: []*unstructured.Unstructured{written(keptSince(1, 3, one, "1"), 4), replicaSet(2, two, ""), replicaSet(4, pods("1", 0, "--debug"), "")},
			want: []string{
				"4 template, live", `  .spec.containers[name="app"].args: <nil> > [--debug] by kubectl (Update)`,
				"3 undo of 1, time unknown", "  " + image + ": 2 > 1 by ? now 1", "2 images", "  " + image + ": 1 > 2 by ?", "1 created",
			},
		},
		"earlier revisions are not kept": {
			live: deployment(three, entry("flux", "Apply", 9, ownsAll)),
			kept: []*unstructured.Unstructured{replicaSet(4, one, ""), replicaSet(9, three, "")},
			want: []string{"9 images since 4, live", "  " + image + ": 1 > 3 by flux (Apply)", "4 unknown since 0"},
		},
		"not rolled out yet": {
			live: deployment(two, entry("kubectl-edit", "Update", 7, ownsImage)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, "")},
			want: []string{"0 images, time unknown, live", "  " + image + ": 1 > 2 by kubectl-edit (Update)", "1 created"},
		},
		"recorded": {
			live:     deployment(three, entry("flux", "Apply", 9, ownsAll)),
			kept:     []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, ""), replicaSet(3, three, "")},
			recorded: []event.Transition{transition(2, "1", "2", "kubectl-set", "jane"), transition(9, "3", "2", "helm", "ci")},
			want:     []string{"3 images, live", "  " + image + ": 2 > 3 by ? now 1", "2 images", "  " + image + ": 1 > 2 by kubectl-set (Update) jane", "1 created"},
		},
		"recorded with other values": {
			live:     deployment(two),
			kept:     []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			recorded: []event.Transition{transition(2, "1", "5", "kubectl-set", "jane")},
			want:     []string{"2 images, live", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"recorded without values, in the second between two changes": {
			live:     deployment(three),
			kept:     []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, ""), replicaSet(3, three, "")},
			recorded: []event.Transition{transition(2, "", "", "kubectl-set", "jane")},
			want:     []string{"3 images, live", "  " + image + ": 2 > 3 by ?", "2 images", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"given, with the same value": {
			live: deployment(three),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(4, two, ""), replicaSet(5, three, "")},
			recorded: []event.Transition{func() event.Transition {
				given := transition(3, "", "", "flux", "jane")
				given.Kind = "given"
				return given
			}()},
			want: []string{"5 images, live", "  " + image + ": 2 > 3 by ?", "4 images since 1", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"given since": {
			live: deployment(two, entry("flux", "Apply", 2, ownsAll)),
			kept: []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(2, two, "")},
			recorded: []event.Transition{func() event.Transition {
				given := transition(3, "", "", "flux", "ann")
				given.Kind = "given"
				return given
			}()},
			want: []string{"2 images, live", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"recorded, and taken again before the controller acted": {
			live:     deployment(three),
			kept:     []*unstructured.Unstructured{replicaSet(1, one, ""), replicaSet(9, two, ""), replicaSet(10, three, "")},
			recorded: []event.Transition{transition(5, "1", "2", "kubectl-set", "jane"), transition(6, "2", "7", "flux", "ci")},
			want:     []string{"10 images, live", "  " + image + ": 2 > 3 by ?", "9 images since 1", "  " + image + ": 1 > 2 by ?", "1 created"},
		},
		"recorded, and an undo": {
			live:     deployment(two),
			kept:     []*unstructured.Unstructured{replicaSet(1, one, ""), keptSince(2, 8, two, "2"), replicaSet(3, three, "")},
			recorded: []event.Transition{transition(6, "3", "2", "kubectl-set", "jane")},
			want: []string{
				"8 undo of 2 since 3, time unknown, live", "  " + image + ": 3 > 2 by ?", "3 images", "  " + image + ": 2 > 3 by ?",
				"2 images", "  " + image + ": 1 > 2 by ?", "1 created",
			},
		},
		"another object's ReplicaSet": {
			live: func() *unstructured.Unstructured { u := deployment(one); u.SetUID("other"); return u }(),
			kept: []*unstructured.Unstructured{replicaSet(1, two, "")},
			want: []string{"0 created, time unknown, live"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, rest, err := rollouts.Of(tt.live, tt.kept, rollouts.Recorded{Transitions: tt.recorded})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("revisions (-want +got):\n%s", diff)
			}
			users := strings.Count(strings.Join(lines(got), "\n"), "jane")
			if len(rest)+users != len(tt.recorded) {
				t.Errorf("%d transitions of %d are left, %d joined", len(rest), len(tt.recorded), users)
			}
		})
	}
}

// A ControllerRevision that is used again loses its old number, but not its age. The write of its number
// is later than its creation, except if a new StatefulSet has adopted it.
func TestControllerRevisions(t *testing.T) {
	numbered := func(u *unstructured.Unstructured, at int) *unstructured.Unstructured {
		u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
			"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "apps/v1", "time": stamp(at),
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:revision": map[string]any{}},
		}}
		return u
	}
	kept := func(created, revision int, image string) *unstructured.Unstructured {
		u := object(fmt.Sprintf(`{apiVersion: apps/v1, kind: ControllerRevision, revision: %d, metadata: {name: db-%s, namespace: shop, creationTimestamp: %q,
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: web, controller: true}]}}`, revision, image, stamp(created)))
		template := pods(image, 0)
		template["$patch"] = "replace"
		u.Object["data"] = map[string]any{"spec": map[string]any{"template": template}}
		u.Object["revision"] = int64(revision)
		return u
	}
	live := deployment(pods("1", 0))
	live.SetKind("StatefulSet")
	got, _, err := rollouts.Of(live, []*unstructured.Unstructured{kept(1, 3, "1"), kept(2, 2, "2")}, rollouts.Recorded{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"3 undo, time unknown, live", "  " + image + ": 2 > 1 by ?", "2 unknown since 0"}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}

	// Two undos: from 3 to 2, which becomes 4, and back to 3, which becomes 5.
	live = deployment(pods("3", 0))
	live.SetKind("StatefulSet")
	twice := []*unstructured.Unstructured{numbered(kept(1, 1, "1"), 1), numbered(kept(2, 4, "2"), 4), numbered(kept(3, 5, "3"), 5)}
	if got, _, err = rollouts.Of(live, twice, rollouts.Recorded{}); err != nil {
		t.Fatal(err)
	}
	want = []string{"5 undo, live", "  " + image + ": 2 > 3 by ?", "4 undo since 1", "  " + image + ": 1 > 2 by ?", "1 created"}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("two undos (-want +got):\n%s", diff)
	}
	if at := got[0].Time; !at.Equal(minute(5)) {
		t.Errorf("the last undo was at %s", at)
	}

	live.SetCreationTimestamp(metav1.NewTime(minute(4)))
	adopted := []*unstructured.Unstructured{numbered(kept(1, 1, "1"), 6), numbered(kept(2, 2, "3"), 6)}
	if got, _, err = rollouts.Of(live, adopted, rollouts.Recorded{}); err != nil {
		t.Fatal(err)
	}
	want = []string{"2 images, live", "  " + image + ": 1 > 3 by ?", "1 created"}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
}

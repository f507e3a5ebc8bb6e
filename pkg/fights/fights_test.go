package fights_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fights"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
)

func webs() object.Kind {
	return object.Kind{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Resource: "deployments", Namespaced: true}
}

// version reads one version of an object: "SECOND gen=N LABEL=VALUE MANAGER/OPERATION[/SUBRESOURCE]@SECOND:.PATH,.PATH …".
func version(t *testing.T, number int, text string) *metav1.PartialObjectMetadata {
	t.Helper()
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1", ResourceVersion: strconv.Itoa(number)}}
	for _, word := range strings.Fields(text)[1:] {
		owner, paths, isEntry := strings.Cut(word, ":")
		name, value, _ := strings.Cut(word, "=")
		switch {
		case !isEntry && name == "gen":
			o.Generation, _ = strconv.ParseInt(value, 10, 64)
			continue
		case !isEntry && name == "owner":
			yes := true
			o.OwnerReferences = []metav1.OwnerReference{{Name: value, UID: types.UID(value), Controller: &yes}}
			continue
		case !isEntry:
			if o.Labels == nil {
				o.Labels = map[string]string{}
			}
			o.Labels[name] = value
			continue
		}
		owner, at, _ := strings.Cut(owner, "@")
		parts := append(strings.Split(owner, "/"), "")
		set := fieldpath.NewSet()
		for text := range strings.SplitSeq(paths, ",") {
			p, err := fieldpath.ParsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			fieldpath.Insert(set, p)
		}
		fields, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		e := metav1.ManagedFieldsEntry{
			Manager: parts[0], Operation: metav1.ManagedFieldsOperationType(parts[1]), Subresource: parts[2], APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
		}
		if at != "" {
			second, _ := strconv.Atoi(at)
			e.Time = &metav1.Time{Time: time.Unix(int64(second), 0)}
		}
		o.ManagedFields = append(o.ManagedFields, e)
	}
	return o
}

// see passes versions to a tally. If the first one begins with "was", the object exists before the
// watch begins.
func see(t *testing.T, tally *fights.Tally, kind object.Kind, versions ...string) (was *metav1.PartialObjectMetadata) {
	t.Helper()
	for i, text := range versions {
		o := version(t, i, text)
		second := strings.Fields(text)[0]
		if second == "was" {
			was = o
			continue
		}
		at, _ := strconv.ParseFloat(second, 64)
		tally.See(fights.Change{Event: "MODIFIED", Kind: kind, Before: strconv.Itoa(i - 1), At: time.UnixMilli(int64(at * 1000)), Object: o})
	}
	return was
}

func reported(found []event.Fight) []string {
	var out []string
	for _, f := range found {
		words := []string{string(f.Class)}
		for _, p := range f.Paths {
			words = append(words, p.Path.String())
			for _, v := range p.Values {
				if v != nil {
					words = append(words, fmt.Sprint(*v))
				}
			}
			for _, o := range p.Writers {
				if o == nil {
					words = append(words, "unknown")
				} else {
					words = append(words, o.String())
				}
			}
		}
		for _, o := range f.Writers {
			if o == nil {
				words = append(words, "unknown")
			} else {
				words = append(words, o.String())
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// Each story has the metadata of one object as the API server stores them after each write.
func TestMetadata(t *testing.T) {
	const (
		argo = "argo/Apply@1:.spec.replicas,.spec.paused"
		idle = "argo/Apply@1:.spec.paused"
	)
	for name, test := range map[string]struct {
		versions []string
		want     []string
	}{
		"a path is taken and taken back": {
			[]string{"was gen=1 " + argo, "9 gen=2 " + idle + " keda/Update@9:.spec.replicas", "10 gen=3 argo/Apply@10:.spec.replicas,.spec.paused"},
			[]string{"several-owners .spec.replicas argo (Apply) keda (Update)"},
		},
		"once": {[]string{"was gen=1 " + argo, "9 gen=2 " + idle + " keda/Update@9:.spec.replicas"}, nil},
		"a new path, then a fight": {
			[]string{"was gen=1 " + idle, "8 gen=2 " + argo, "9 gen=3 " + idle + " keda/Update@9:.spec.replicas", "10 gen=4 " + argo},
			[]string{"several-owners .spec.replicas argo (Apply) keda (Update)"},
		},
		"three writers, each of them once": {
			[]string{"was gen=1 a/Update@1:.spec.replicas", "2 gen=2 b/Update@2:.spec.replicas", "3 gen=3 c/Update@3:.spec.replicas"}, nil,
		},
		"a path is shared for a while": {
			[]string{"was gen=1 a/Apply@1:.spec.replicas", "2 gen=1 a/Apply@1:.spec.replicas b/Apply@2:.spec.replicas", "3 gen=1 b/Apply@2:.spec.replicas", "4 gen=1 a/Apply@4:.spec.replicas b/Apply@2:.spec.replicas"}, nil,
		},
		"a label is set and removed once": {
			[]string{"was gen=1 " + argo, "2 gen=1 mark=1 " + argo + " a/Update@2:.metadata.labels.mark", "3 gen=1 " + argo}, nil,
		},
		"a label is set, and removed by an unknown writer": {
			[]string{"was gen=1 " + argo, "2 gen=1 mark=1 " + argo + " a/Update@2:.metadata.labels.mark", "3 gen=1 " + argo, "4 gen=1 mark=1 " + argo + " a/Update@4:.metadata.labels.mark"},
			[]string{"several-owners .metadata.labels.mark 1 a (Update) unknown"},
		},
		"writers take a lock in turn": {
			[]string{
				"was gen=1 " + argo, "2 gen=1 lock=x " + argo + " a/Update@2:.metadata.labels.lock", "3 gen=1 " + argo,
				"4 gen=1 lock=y " + argo + " a/Update@4:.metadata.labels.lock", "5 gen=1 " + argo, "6 gen=1 lock=z " + argo + " a/Update@6:.metadata.labels.lock",
			}, nil,
		},
		"one writer changes a label back and forth": {
			[]string{
				"was l=1 a/Update@1:.metadata.labels.l b/Update@1:.spec", "2 l=2 a/Update@2:.metadata.labels.l b/Update@1:.spec",
				"2.5 l=1 a/Update@2:.metadata.labels.l b/Update@1:.spec",
			},
			[]string{"one-writer .metadata.labels.l 1 2 a (Update)"},
		},
		"a label with ever new values": {
			[]string{"was l=1 a/Update@1:.metadata.labels.l", "2 l=2 a/Update@2:.metadata.labels.l", "3 l=3 a/Update@3:.metadata.labels.l", "4 l=4 a/Update@4:.metadata.labels.l"}, nil,
		},
		"a heartbeat in the status": {
			[]string{"was gen=1 " + argo + " k/Update/status@1:.status.a", "2 gen=1 " + argo + " k/Update/status@2:.status.a,.status.b", "3 gen=1 " + argo + " k/Update/status@3:.status.a", "3.1 gen=1 " + argo + " k/Update/status@3:.status.a"}, nil,
		},
		"a controller follows its owner object": {
			[]string{
				"was gen=1 l=5 owner=web kube-controller-manager/Update@1:.metadata.labels.l", "2 gen=2 l=3 owner=web kube-controller-manager/Update@2:.metadata.labels.l",
				"3 gen=3 l=5 owner=web kube-controller-manager/Update@3:.metadata.labels.l",
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := fights.New(false)
			was := see(t, tally, webs(), test.versions...)
			for _, r := range tally.Baselines(1) {
				tally.Baseline(r.UID, was)
			}
			if got := reported(tally.Result()); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A path has its changes with their times, and with values if they are known; a Secret's are not.
func TestTurns(t *testing.T) {
	story := []string{
		"was l=1 a/Update@1:.metadata.labels.l b/Update@1:.spec", "2 l=2 b/Update@2:.spec,.metadata.labels.l", "3 l=1 a/Update@3:.metadata.labels.l b/Update@2:.spec",
	}
	secret := object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Resource: "secrets", Namespaced: true}
	for _, kind := range []object.Kind{webs(), secret} {
		tally := fights.New(false)
		was := see(t, tally, kind, story...)
		for _, r := range tally.Baselines(1) {
			tally.Baseline(r.UID, was)
		}
		var got []string
		for _, f := range tally.Result() {
			for _, turn := range f.Paths[0].Turns {
				got = append(got, fmt.Sprintf("%s %s at %d: %s>%s, %s>%s", turn.Path, turn.Kind, turn.Last.Unix(), turn.From, turn.To, turn.FromValue, turn.ToValue))
			}
		}
		want := []string{
			`.metadata.labels.l taken at 2: [a (Update)]>[b (Update)], "1">"2"`, `.metadata.labels.l taken at 3: [b (Update)]>[a (Update)], "2">"1"`,
		}
		if kind.Resource == secret.Resource {
			want = []string{`.metadata.labels.l taken at 2: [a (Update)]>[b (Update)], >`, `.metadata.labels.l taken at 3: [b (Update)]>[a (Update)], >`}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind.Resource, diff)
		}
	}
}

// If the status is included, its paths count as well.
func TestStatus(t *testing.T) {
	for status, want := range map[bool][]string{false: nil, true: {"several-owners .status.a k (status) l (status)"}} {
		tally := fights.New(status)
		see(
			t, tally, webs(), "1 gen=1 k/Update/status@1:.status.a c/Update@1:.spec.x", "2 gen=1 l/Update/status@2:.status.a c/Update@1:.spec.x",
			"3 gen=1 k/Update/status@3:.status.a c/Update@1:.spec.x", "4 gen=1 l/Update/status@4:.status.a c/Update@1:.spec.x",
		)
		if got := reported(tally.Result()); !slices.Equal(got, want) {
			t.Errorf("status %v: %q", status, got)
		}
	}
}

// whole is an object at a version, with one value.
func whole(t *testing.T, kind object.Kind, number int, text, replicas, status string) *unstructured.Unstructured {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(version(t, number, text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(kind.GVK)
	if replicas != "" {
		_ = unstructured.SetNestedField(u.Object, replicas, "spec", "replicas")
	}
	_ = unstructured.SetNestedField(u.Object, status, "status", "phase")
	return u
}

// Only whole objects show which values a single writer changes back and forth, and which writes
// change nothing.
func TestValues(t *testing.T) {
	const entry = "a/Update@%d:.spec.replicas b/Update@1:.spec.paused"
	scale := strings.ReplaceAll(entry, "a/Update", "a/Update/scale")
	for name, test := range map[string]struct {
		entry    string
		replicas []string
		statuses []string
		want     []string
	}{
		"back and forth":                  {entry, []string{"5", "3", "5"}, nil, []string{"one-writer .spec.replicas 3 5 a (Update)"}},
		"new field, then back and forth":  {entry, []string{"", "3", "5", "3", "5"}, nil, []string{"one-writer .spec.replicas 3 5 a (Update)"}},
		"a counter":                       {entry, []string{"1", "2", "3", "4"}, nil, nil},
		"an autoscaler":                   {scale, []string{"5", "3", "5", "3"}, nil, nil},
		"nothing":                         {entry, []string{"5", "5", "5"}, nil, []string{"no-change a (Update)"}},
		"status changes are not included": {entry, []string{"5", "5", "5"}, []string{"x", "y", "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tally, kind := fights.New(false), webs()
			var texts []string
			for i := range test.replicas {
				texts = append(texts, fmt.Sprintf("%d "+test.entry+" gen=%d", i+1, i+1, i+1))
			}
			if test.replicas[0] == "" {
				texts[0] = strings.Replace(texts[0], "a/Update@1:.spec.replicas ", "", 1)
			}
			texts[0] = "was" + strings.TrimPrefix(texts[0], "1")
			was := see(t, tally, kind, texts...)
			for _, r := range tally.Baselines(9) {
				tally.Baseline(r.UID, was)
			}
			readings, beyond := tally.Unexplained(10)
			for _, r := range readings {
				var states []*unstructured.Unstructured
				for _, v := range r.Versions {
					i, _ := strconv.Atoi(v)
					states = append(states, whole(t, kind, i, texts[i], test.replicas[i], append(test.statuses, "", "", "", "", "")[i]))
				}
				tally.Learn(r, states)
			}
			if got := reported(tally.Result()); !slices.Equal(got, test.want) || beyond != 0 {
				t.Errorf("got  %q and %d unread\nwant %q", got, beyond, test.want)
			}
		})
	}
}

// Values of a Secret are not shown. The suggested command can be pasted, and gives the replicas to
// the autoscaler.
func TestNextCommandGivesReplicasToAutoscaler(t *testing.T) {
	const one, two = "%d argo/Apply@%d:.spec.replicas c/Update@1:.spec.x", "%d kcm/Update/scale@%d:.spec.replicas c/Update@1:.spec.x"
	tally := fights.New(false)
	was := see(t, tally, webs(), fmt.Sprintf("was"+strings.TrimPrefix(one, "%d"), 1), fmt.Sprintf(two, 2, 2), fmt.Sprintf(one, 3, 3))
	for _, r := range tally.Baselines(9) {
		tally.Baseline(r.UID, was)
	}
	found := tally.Result()
	if len(found) != 1 || len(found[0].Next) != 1 {
		t.Fatalf("%+v", found)
	}
	next := found[0].Next[0]
	commandtest.Check(t, next)
	if !strings.HasSuffix(next, " deployment.apps/web -n shop .spec.replicas --to=kcm --as-operation=update") {
		t.Error(next)
	}
}

// Writes that are not stored are counted by kind. A fight is reported if one object must have
// received several of them.
func TestWritesThatAreNotStored(t *testing.T) {
	tally, kind := fights.New(false), webs()
	resource := kind.GVR().GroupResource()
	see(t, tally, kind, "was a/Update@1:.x", "2 a/Update@1:.x", "3 a/Update@1:.x")
	for _, test := range []struct{ writes, objects, found, few int }{{2, 1, 0, 0}, {3, 1, 0, 0}, {33, 1, 1, 0}, {33, 100, 0, 1}} {
		found, few := tally.Unstored([]object.Kind{kind}, map[schema.GroupResource]int{resource: test.objects}, map[schema.GroupResource]int{resource: test.writes}, time.Minute)
		if len(found) != test.found || len(few) != test.few {
			t.Errorf("%+v: %v, %v", test, found, few)
		}
		if len(found) == 1 {
			if diff := cmp.Diff(found[0], event.Fight{Ref: object.Ref{GVK: kind.GVK}, Class: event.NotStored, Writes: 31}); diff != "" {
				t.Error(diff)
			}
		}
	}
}

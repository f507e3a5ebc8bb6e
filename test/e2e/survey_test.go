package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// surveyResult is the output of owners -o json for many objects.
type surveyResult struct {
	Objects             int
	Managers            []surveyCount
	Holdings            []surveyCount
	Unexpected, Leaving []surveyCount
	Unread              []any
}

type surveyCount struct {
	Manager, Operation, Subresource string
	Of                              struct{ Group, Kind string }
	Kind, Name                      string // of an object
	Objects                         int
	Fields, Shared, Sole            int
	Paths                           []string
}

// ownersResult is the output of owners -o json for named objects.
type ownersResult struct {
	Objects []struct {
		APIVersion, Kind, Name string
		Fields                 []struct {
			Path   string
			Owners []struct{ Manager, Operation, Subresource string }
		}
	}
}

// The counts for a namespace are the sums of the counts for its objects.
func TestSurveyIsTheSumOfOwners(t *testing.T) {
	c := shared.Cluster(t)
	ns := surveyed(t, c)
	deadline := time.Now().Add(10 * time.Minute)
	for {
		before, parts, after := surveyOf(t, c, ns), ownersOf(t, c, ns), surveyOf(t, c, ns)
		if cmp.Equal(before, after) {
			want, objects := addUp(parts)
			got := countsOf(before)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-the sum +the survey):\n%s", diff)
			}
			if before.Objects != objects || len(before.Unread) > 0 {
				t.Errorf("%d objects in the survey, %d in the namespace; not read: %v", before.Objects, objects, before.Unread)
			}
			if len(before.Unexpected) == 0 || len(before.Leaving) == 0 {
				t.Error("no Unexpected or no Leaving entries in the survey: the test does not cover them")
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the namespace keeps changing")
		}
	}
}

// surveyed creates a namespace with objects that several managers share.
func surveyed(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	ns := e2etest.Namespace(t, c)
	web := e2etest.File(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {team: shop}}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "registry.example/web:1", ports: [{containerPort: 80}], env: [{name: A, value: a}]}]}}}}`)
	label := e2etest.File(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {team: shop, tier: front}}}`)
	config := e2etest.File(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {a: '1', b: '2'}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: app}, stringData: {k: v}}")
	e2etest.Kubectl(t, c, "apply", "--server-side", "--field-manager=flux", "-n", ns, "-f", web)
	e2etest.Kubectl(t, c, "apply", "--server-side", "--field-manager=platform", "-n", ns, "-f", label)
	e2etest.Kubectl(t, c, "scale", "-n", ns, "deploy/web", "--replicas=3")
	e2etest.Kubectl(t, c, "set", "image", "-n", ns, "deploy/web", "app=registry.example/web:2", "--field-manager=kubectl-edit")
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", config)
	e2etest.Kubectl(t, c, "patch", "-n", ns, "cm/app", "--field-manager=kubectl-edit", "-p", `{"data":{"a":"by hand","c":"3"}}`)
	e2etest.Kubectl(t, c, "wait", "-n", ns, "deploy/web", "--for=condition=Available", "--timeout=5m")
	return ns
}

func surveyOf(t *testing.T, c *cluster.Cluster, ns string) surveyResult {
	t.Helper()
	r := e2etest.Plugin(t, c.KubeconfigPath, "owners", "-n", ns, "-o", "json", "--expect=flux,kube-*", "--from=kubectl-client-side-apply,platform")
	r.Ends(t, 1)
	var out surveyResult
	if err := json.Unmarshal(r.Stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return out
}

// ownersOf runs owners for each of the namespace's objects.
func ownersOf(t *testing.T, c *cluster.Cluster, ns string) ownersResult {
	t.Helper()
	types := slices.DeleteFunc(strings.Fields(e2etest.Kubectl(t, c, "api-resources", "--namespaced", "--verbs=list", "-o", "name")), func(name string) bool {
		return name == "events" || name == "events.events.k8s.io" // not counted unless they are named
	})
	names := strings.Fields(e2etest.Kubectl(t, c, "get", strings.Join(types, ","), "-n", ns, "-o", "name", "--ignore-not-found"))
	r := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"owners", "-n", ns, "-o", "json"}, names...)...)
	var out ownersResult
	if err := json.Unmarshal(r.Stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return out
}

// addUp counts the fields of single objects, by path.
func addUp(parts ownersResult) (counts map[string]surveyCount, objects int) {
	counts = map[string]surveyCount{}
	add := func(key string, all, shared int, paths []string) {
		n := counts[key]
		n.Objects++
		n.Fields, n.Shared, n.Sole, n.Paths = n.Fields+all, n.Shared+shared, n.Sole+all-shared, paths
		counts[key] = n
	}
	for _, o := range parts.Objects {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if !strings.Contains(o.APIVersion, "/") {
			group = ""
		}
		managers := map[string][]string{} // the paths of each
		rows := map[string][]string{}
		outside := map[string][]string{} // not written through the status
		of := map[string]string{}
		for _, f := range o.Fields {
			for _, owner := range f.Owners {
				row := fmt.Sprintf("%s %s %s %s/%s", owner.Manager, owner.Operation, owner.Subresource, group, o.Kind)
				of[row] = owner.Manager
				rows[row] = append(rows[row], f.Path)
				if !slices.Contains(managers[owner.Manager], f.Path) {
					managers[owner.Manager] = append(managers[owner.Manager], f.Path)
				}
				inStatus := f.Path == ".status" || strings.HasPrefix(f.Path, ".status.")
				if owner.Subresource != "status" && !inStatus && !slices.Contains(outside[owner.Manager], f.Path) {
					outside[owner.Manager] = append(outside[owner.Manager], f.Path)
				}
			}
		}
		isShared := func(path, manager string) bool {
			for other, paths := range managers {
				for _, theirs := range paths {
					if other != manager && (theirs == path || strings.HasPrefix(theirs, path+".") || strings.HasPrefix(theirs, path+"[")) {
						return true
					}
				}
			}
			return false
		}
		sum := func(key, manager string, paths, reported []string) {
			shared := 0
			for _, path := range paths {
				if isShared(path, manager) {
					shared++
				}
			}
			add(key, len(paths), shared, reported)
		}
		for row, paths := range rows {
			sum("row "+row, of[row], paths, nil)
		}
		for manager, paths := range managers {
			sum("manager "+manager, manager, paths, nil)
			if slices.Contains([]string{"kubectl-client-side-apply", "platform"}, manager) {
				sole := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return isShared(path, manager) })
				slices.Sort(sole)
				sum(fmt.Sprintf("leaving %s %s %s", manager, o.Kind, o.Name), manager, paths, sole)
			}
			if reported := outside[manager]; manager != "flux" && !strings.HasPrefix(manager, "kube-") && len(reported) > 0 {
				slices.Sort(reported)
				sum(fmt.Sprintf("unexpected %s %s %s", manager, o.Kind, o.Name), manager, reported, reported)
			}
		}
	}
	return counts, len(parts.Objects)
}

// countsOf returns a survey's counts, under the same keys.
func countsOf(s surveyResult) map[string]surveyCount {
	counts := map[string]surveyCount{}
	put := func(key string, n surveyCount) {
		counts[key] = surveyCount{Objects: max(n.Objects, 1), Fields: n.Fields, Shared: n.Shared, Sole: n.Sole, Paths: n.Paths}
	}
	for _, n := range s.Holdings {
		put(fmt.Sprintf("row %s %s %s %s/%s", n.Manager, n.Operation, n.Subresource, n.Of.Group, n.Of.Kind), n)
	}
	for _, n := range s.Managers {
		put("manager "+n.Manager, n)
	}
	for what, list := range map[string][]surveyCount{"leaving": s.Leaving, "unexpected": s.Unexpected} {
		for _, n := range list {
			if len(n.Paths) == 0 {
				n.Paths = []string{}
			}
			put(fmt.Sprintf("%s %s %s %s", what, n.Manager, n.Kind, n.Name), n)
		}
	}
	return counts
}

// Many objects are counted from pages of metadata, which are not kept in memory.
func TestMemoryOfSurvey(t *testing.T) {
	circle.Long(t) // ten thousand objects take minutes to create
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const objects, limit = 10_000, 150
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(objects, 1000, "1")), "--field-manager=flux").Ends(t, 0)
	r := e2etest.Start(t, c.KubeconfigPath, "owners", "-n", ns, "-o", "json")
	began := time.Now()
	got := peakMemory(t, r)
	took := time.Since(began)
	r.Ends(t, 0).Says(t, fmt.Sprintf(`"objects": %d`, objects))
	if got > limit {
		t.Errorf("%d MB, want at most %d", got, limit)
	}
	t.Logf("%d MB, %v", got, took)
}

package give_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1.0", args: [a]}]}
`

// The subresource scale gives unowned replicas no owner, so an autoscaler cannot keep released
// replicas, as docs/give.md explains. A field given to a controller can be removed from the
// manifest.
func TestReleasedReplicas(t *testing.T) {
	s := newSite(t, "give-replicas")
	for _, test := range []struct {
		how  []string
		want string
	}{
		{[]string{"--release"}, "[flux Apply]"},
		{[]string{"--to=kube-controller-manager", "--as-operation=update"}, "[flux Apply kubectl Update:scale]"},
	} {
		s.apply(t, "flux", web)
		if status, _ := s.give(t, append([]string{"deploy/web", ".spec.replicas", "--from=flux"}, test.how...)...); status != 0 {
			t.Fatalf("%s: status %d", test.how, status)
		}
		s.kubectl(t, "", "scale", "deploy/web", "--replicas=5")
		if got := fmt.Sprint(owners(s.get(t, deployments, "web"))); got != test.want {
			t.Errorf("%s: owners %s", test.how, got)
		}
		s.kubectl(t, "", "delete", "deploy/web")
	}
}

// Fields are given from one manager to another without changing a value or the generation. The next
// apply of each has the right result (edge cases 6, 10).
func TestGive(t *testing.T) {
	s := newSite(t, "give")
	s.apply(t, "flux", web)
	s.kubectl(t, "", "scale", "deploy/web", "--replicas=5")
	before := s.get(t, deployments, "web")

	for _, dryRun := range []string{"server", "client"} {
		if status, _ := s.give(t, "deploy/web", ".spec.replicas", "--to=flux", "--dry-run="+dryRun); status != 0 {
			t.Fatal("the dry run of give failed")
		}
		if now := s.get(t, deployments, "web"); now.GetResourceVersion() != before.GetResourceVersion() {
			t.Fatalf("--dry-run=%s writes", dryRun)
		}
	}
	status, out := s.give(t, "deploy/web", ".spec.replicas", "--to=flux")
	after := s.get(t, deployments, "web")
	if status != 0 || !strings.Contains(out, "moved    .spec.replicas  from kubectl (scale") {
		t.Errorf("status %d", status)
	}
	if content(t, before) != content(t, after) {
		t.Errorf("something else changed:\n%s\n%s", content(t, before), content(t, after))
	}
	if got := fmt.Sprint(owners(after)); got != "[flux Apply]" {
		t.Errorf("owners %s", got)
	}
	if status, out = s.give(t, "deploy/web", ".spec.replicas", "--to=flux"); status != 0 || !strings.Contains(out, "unchanged") {
		t.Errorf("repeated: status %d, want 0 and no change", status)
	}

	// To the manager that scales: flux no longer sets it, and it stays.
	if status, _ = s.give(t, "deploy/web", ".spec.replicas", "--from=flux", "--to=kube-controller-manager", "--as-operation=update"); status != 0 {
		t.Fatal("give failed")
	}
	s.kubectl(t, strings.Replace(web, "  replicas: 2\n", "", 1), "apply", "--server-side", "--field-manager=flux", "-f", "-")
	if got := s.get(t, deployments, "web"); !strings.Contains(content(t, got), `"replicas":5`) {
		t.Errorf("the replicas are not 5: %s", content(t, got))
	}
}

// A field without an owner keeps its value, and is no conflict for the next apply. A shared field
// stays when either owner releases it.
func TestReleaseAndShare(t *testing.T) {
	s := newSite(t, "release")
	s.apply(t, "flux", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1", b: "1", c: "1"}}`)
	if status, out := s.give(t, "cm/a", ".data.a", "--release"); status != 0 || !strings.Contains(out, "have no owner") {
		t.Errorf("status %d", status)
	}
	if status, out := s.give(t, "cm/a", ".data.a", "--release"); status != 0 || !strings.Contains(out, "1 unchanged") || strings.Contains(out, "have no owner") {
		t.Errorf("released a second time: status %d", status)
	}
	if status, _ := s.give(t, "cm/a", ".data.b", "--share", "--to=team", "--as-operation=apply"); status != 0 {
		t.Errorf("status %d", status)
	}
	s.kubectl(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {c: "1"}}`, "apply", "--server-side", "--field-manager=flux", "-f", "-")
	data := fmt.Sprint(s.get(t, configMaps, "a").Object["data"])
	if data != "map[a:1 b:1 c:1]" {
		t.Errorf("data after flux removed its fields: %s", data)
	}
	s.kubectl(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "2"}}`, "apply", "--server-side", "--field-manager=newcomer", "-f", "-")
	if status, out := s.give(t, "cm/a", "--from=flux,team,newcomer", "--release"); status != 1 || !strings.Contains(out, "none of its fields would have an owner") {
		t.Errorf("the release of all owners was not refused: status %d", status)
	}
}

// Another client writes during give: none of its writes is lost, and give finishes.
func TestRace(t *testing.T) {
	s := newSite(t, "race")
	data := map[string]string{}
	for i := range 20 {
		data[fmt.Sprint("k", i)] = "0"
	}
	text, _ := json.Marshal(data)
	s.apply(t, "flux", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": `+string(text)+`}`)
	s.update(t, configMaps, "a", "team", `{"data": {"team": "0"}}`)
	done := make(chan struct{})
	var writer sync.WaitGroup
	writes := 0
	writer.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				writes++
				s.update(t, configMaps, "a", "operator", fmt.Sprintf(`{"data": {"mine": "%d"}}`, writes))
			}
		}
	})
	given := map[string]bool{}
	for i := range 6 { // each for as long as it retries
		if i >= circle.Of(2, 6, 6) && len(given) > 0 {
			break
		}
		key := fmt.Sprint("k", i)
		status, out := s.give(t, "cm/a", ".data."+key, "--from=flux", "--to=team")
		switch {
		case status == 0:
			given[key] = true
		case !strings.Contains(out, "the object keeps changing"):
			t.Errorf("status %d", status)
		}
	}
	close(done)
	writer.Wait()
	u := s.get(t, configMaps, "a")
	flux, team, operator := fieldsOf(u, "flux Apply"), fieldsOf(u, "team Update"), fieldsOf(u, "operator Update")
	for i := range 20 {
		key := fmt.Sprint(`"f:k`, i, `"`)
		is, was := team, flux
		if !given[fmt.Sprint("k", i)] {
			is, was = flux, team
		}
		if !strings.Contains(is, key) || strings.Contains(was, key) {
			t.Errorf("%s has the wrong owner", key)
		}
	}
	if !strings.Contains(operator, `"f:mine"`) || !strings.Contains(team, `"f:team"`) || len(given) == 0 {
		t.Errorf("%d fields were given; the operator owns %s, the team owns %s", len(given), operator, team)
	}
	t.Logf("%d writes, %d of 20 given", writes, len(given))
}

// A user who may read but not patch gets that reason, and nothing changes.
func TestForbidden(t *testing.T) {
	s := newSite(t, "forbidden")
	s.apply(t, "flux", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}`)
	s.kubectl(t, "", "create", "role", "reader", "--verb=get", "--resource=configmaps")
	s.kubectl(t, "", "create", "rolebinding", "reader", "--role=reader", "--user=reader")
	status, out := s.give(t, "cm/a", ".data.a", "--to=team", "--as-operation=update", "--as=reader")
	if status != 2 || !strings.Contains(out, "reader") || !strings.Contains(out, "patch") {
		t.Errorf("status %d", status)
	}
	if got := fmt.Sprint(owners(s.get(t, configMaps, "a"))); got != "[flux Apply]" {
		t.Errorf("owners %s", got)
	}
}

// Objects in which the giver owns nothing are skipped. A typo in its name is reported.
func TestGiveBySelector(t *testing.T) {
	s := newSite(t, "selected")
	for i := range 12 {
		manager := []string{"flux", "kubectl-edit"}[i%2]
		s.apply(t, manager, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: web}}, data: {a: "1"}}`, i))
	}
	// A typo is not the same as nothing to do.
	if status, out := s.give(t, "cm", "-l", "app=web", "--from=kubectl-edti", "--to=flux", "--as-operation=apply"); status != 1 ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), "kubectl-edti (did you mean kubectl-edit?) owns nothing in the 12 objects") {
		t.Errorf("a typo in --from for a selector: status %d, want 1", status)
	}
	if status, out := s.give(t, "cm/a1", "--from=kubectl-edti", "--to=flux", "--as-operation=apply"); status != 1 || !strings.Contains(out, "kubectl-edti (did you mean kubectl-edit?) owns none of its fields") {
		t.Errorf("a typo in --from for one object: status %d, want 1", status)
	}
	if status, out := s.give(t, "cm", "-l", "app=web", "--from=kubectl-edit", "--to=flux", "--as-operation=apply"); status != 0 || !strings.Contains(out, "6 given, 6 unchanged") {
		t.Errorf("status %d", status)
	}
	// Repeated, as by a job, by label and by name.
	for _, args := range [][]string{{"cm", "-l", "app=web"}, {"cm/a1", "cm/a3"}, {"cm/a0"}} {
		status, out := s.give(t, append(args, "--from=kubectl-edit", "--to=flux")...)
		if status != 0 || strings.Contains(out, "moved") || !strings.Contains(out, "kubectl-edit owns nothing") {
			t.Errorf("%s again: status %d", args, status)
		}
	}
	if status, out := s.give(t, "cm/a0", ".data.b", "--to=flux"); status != 1 || !strings.Contains(out, "there is no .data.b") {
		t.Errorf("status %d", status)
	}
	if status, _ := s.give(t, "cm/nothing", ".data.a", "--to=flux"); status != 2 {
		t.Errorf("status %d", status)
	}
	s.kubectl(t, "", "patch", "cm", "a0", "--type=merge", "-p", `{"metadata":{"managedFields":[{}]}}`)
	if status, out := s.give(t, "cm/a0", ".data.a", "--to=flux"); status != 1 || !strings.Contains(out, "no managed fields") {
		t.Errorf("status %d", status)
	}
}

// An object of etcd's maximum size can be given.
func TestLarge(t *testing.T) {
	s := newSite(t, "large")
	const size = 900 << 10 // a ConfigMap has at most a megabyte
	s.apply(t, "flux", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "big": "`+strings.Repeat("x", size)+`"}}`)
	if status, _ := s.give(t, "cm/a", "--from=flux", "--to=team", "--as-operation=apply"); status != 0 {
		t.Errorf("status %d", status)
	}
	if u := s.get(t, configMaps, "a"); fmt.Sprint(owners(u)) != "[team Apply]" || len(content(t, u)) < size {
		t.Errorf("owners %v", owners(u))
	}
}

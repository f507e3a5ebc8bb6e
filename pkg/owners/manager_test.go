package owners_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: prod
  labels: {app: web, team: shop}
  managedFields:
  - {manager: flux, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}},
      "f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:name": {}, "f:image": {},
      "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}}
  - {manager: edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}, "f:team": {}}},
      "f:spec": {"f:containers": {"k:{\"name\":\"side\"}": {".": {}, "f:name": {}, "f:image": {}}}, "f:gone": {}}}}
  - {manager: setter, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {"f:image": {},
      "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {"f:hostPort": {}}}}}}}}
  - {manager: injector, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:containers": {"k:{\"name\":\"side\"}": {".": {}}}}}}
  - {manager: kubelet, operation: Update, subresource: status, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:phase": {}, "f:podIP": {}}}}
spec:
  dnsPolicy: Default
  containers:
  - {name: app, image: "app:1", imagePullPolicy: Always, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}
  - {name: side, image: "side:1"}
status: {phase: Running, podIP: 192.0.2.1}`

func pods(objects ...string) owners.Engine {
	return owners.Engine{Reader: fakeReader{objects: objects}, Status: true}
}

// leaves returns the paths with a value of their own, with their owners.
func leaves(o event.Owned) map[string][]string {
	out := map[string][]string{}
	managedfields.Walk(slices.Concat(o.Fields, o.Absent), func(n managedfields.Node) {
		if len(n.Below) > 0 || !n.Ownable() {
			return
		}
		var names []string
		for _, owner := range n.Owners {
			names = append(names, owner.Manager)
		}
		out[n.Path.String()] = names
	})
	return out
}

// If a manager is named, everything that it owns is shown, and nothing else except for the keys of
// list items.
func TestOnlyOneManager(t *testing.T) {
	all, err := reported(t, pods(pod), ref("Pod", "prod", "web"))
	if err != nil {
		t.Fatal(err)
	}
	for _, manager := range []string{"flux", "edit", "injector", "kubelet", "setter"} {
		e := pods(pod)
		e.Managers = []string{manager}
		got, err := reported(t, e, ref("Pod", "prod", "web"))
		if err != nil {
			t.Fatal(err)
		}
		shown := leaves(got[0])
		for path, names := range leaves(all[0]) {
			if _, ok := shown[path]; slices.Contains(names, manager) && !ok {
				t.Errorf("%s owns %s, which is not shown", manager, path)
			}
		}
		for path, names := range shown {
			if !slices.Contains(names, manager) && !ofKey(path) {
				t.Errorf("%s does not own %s, which is shown", manager, path)
			}
		}
		managedfields.Walk(got[0].Fields, func(n managedfields.Node) {
			if _, isField := n.FieldName(); isField || len(n.Below) == 0 {
				return
			}
			for _, key := range []string{"name", "containerPort", "protocol"} {
				if strings.Contains(n.Path.String()[strings.LastIndex(n.Path.String(), "["):], key+"=") &&
					!slices.ContainsFunc(n.Below, func(b managedfields.Node) bool { return strings.HasSuffix(b.Path.String(), "]."+key) }) {
					t.Errorf("an item that %s owns at %s is shown without its key %s", manager, n.Path, key)
				}
			}
		})
	}
	e := pods(pod)
	e.Managers = []string{"nobody-at-all"}
	_, err = reported(t, e, ref("Pod", "prod", "web"))
	var none *owners.ManagerError
	if !errors.As(err, &none) || none.Hint() != "managers that do: edit, flux, injector, kubelet, setter" {
		t.Errorf("%v", err)
	}
}

// ofKey reports whether a path is a key field of a list item.
func ofKey(path string) bool {
	return regexp.MustCompile(`\](\.name|\.containerPort|\.protocol)$`).MatchString(path)
}

// The head's count of fields for each owner equals the number of fields that are listed with the
// owner's name.
func TestHoldingsCountListedFields(t *testing.T) {
	all, err := reported(t, pods(pod), ref("Pod", "prod", "web"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all[0].Holdings {
		got = append(got, fmt.Sprintf("%s %d", s.Owner.Manager, s.Fields))
	}
	// List items and absent fields are counted too.
	if diff := cmp.Diff([]string{"flux 7", "edit 6", "kubelet 2", "setter 2", "injector 1", " 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The status is shown only on request. Without the request, the output says that there is a status.
func TestStatusIsHiddenByDefault(t *testing.T) {
	for name, tt := range map[string]struct {
		engine func(*owners.Engine)
		shown  bool
	}{
		"by default":                    {func(*owners.Engine) {}, false},
		"asked":                         {func(e *owners.Engine) { e.Status = true }, true},
		"path in the status":            {func(e *owners.Engine) { e.Path = fieldpath.Field("status", "phase") }, true},
		"manager that wrote the status": {func(e *owners.Engine) { e.Managers = []string{"kubelet"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := pods(pod)
			e.Status = false
			tt.engine(&e)
			got, err := reported(t, e, ref("Pod", "prod", "web"))
			if err != nil {
				t.Fatal(err)
			}
			if _, shown := leaves(got[0])[".status.phase"]; shown != tt.shown || got[0].StatusHidden == shown {
				t.Errorf("status is shown: %t, reported as hidden: %t", shown, got[0].StatusHidden)
			}
		})
	}
}

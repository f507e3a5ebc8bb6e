package chart_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// update writes a field of the live object with an Update as a manager.
func (s site) update(t *testing.T, gvr schema.GroupVersionResource, namespace, name, manager string, value any, path ...string) {
	t.Helper()
	live := s.get(t, gvr, namespace, name)
	if err := unstructured.SetNestedField(live.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.in(gvr, namespace).Update(t.Context(), live, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

// configMap returns a ConfigMap with data.
func configMap(namespace, name, data string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: %s, name: %s}, data: {%s}}", namespace, name, data)
}

func deployment(name, labels string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: work, name: %s, labels: {%s}}, spec: {replicas: 0,
		selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`, name, labels)
}

// The API server's calls for a write: none if no owner changes.
func TestCalls(t *testing.T) {
	s := newSite(t)
	s.namespace(t, "work")
	s.install(t, "calls", "calls-home")
	l := s.listen(t, "calls", "calls-home")
	classes := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1beta2", Resource: "deviceclasses"}
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	birds := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "birds"}
	s.apply(t, definitions, birdsDefinition, "test")
	eventually(t, "birds are served", func() bool {
		_, err := s.in(birds, "work").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	lease := "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: work, name: %s}, spec: {holderIdentity: %s}}"
	bird := "{apiVersion: example.com/v1, kind: Bird, metadata: {namespace: work, name: %s}, spec: {wings: %d}}"
	class := "{apiVersion: resource.k8s.io/v1beta2, kind: DeviceClass, metadata: {name: %s, labels: {a: %q}}}"

	for name, test := range map[string]struct {
		namespace              string // work by default; "-" for none
		before, write          func(t *testing.T, namespace, name string)
		ownership, deprecation int
	}{
		"create": { // edge case 102: the kind has no deprecations
			write: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
		},
		"create-without-fields": { // sets none of its kind's deprecated fields (issue 17)
			write: func(t *testing.T, _, name string) {
				s.apply(t, deployments, deployment(name, ""), "one")
				s.apply(t, services, service(name, "type: ClusterIP"), "one")
				s.apply(t, accounts, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+name+", namespace: work}}", "one")
			},
		},
		"create-with-a-field": {
			write: func(t *testing.T, _, name string) {
				s.apply(t, services, service(name, "type: ClusterIP, externalIPs: [192.0.2.8]"), "one")
			},
			deprecation: 1,
		},
		"create-with-a-field-of-its-pods": {
			write: func(t *testing.T, _, name string) {
				text := strings.Replace(deployment(name, ""), "containers:", "nodeSelector: {beta.kubernetes.io/os: linux}, containers:", 1)
				s.apply(t, deployments, text, "one")
			},
			deprecation: 1,
		},
		"create-with-many-volumes": { // more than the API server itself checks
			write: func(t *testing.T, _, name string) {
				volumes := strings.Repeat("{name: v%d, emptyDir: {}}, ", 101)
				for i := range 101 {
					volumes = strings.Replace(volumes, "%d", strconv.Itoa(i), 1)
				}
				s.apply(t, deployments, strings.Replace(deployment(name, ""), "containers:", "volumes: ["+volumes+"], containers:", 1), "one")
			},
			deprecation: 1,
		},
		"create-with-an-annotation": {
			write: func(t *testing.T, _, name string) {
				s.apply(t, accounts, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+name+
					", namespace: work, annotations: {kubernetes.io/enforce-mountable-secrets: 'true'}}}", "one")
			},
			deprecation: 1,
		},
		"create-by-a-controller": { // the author of its template got the warning
			write: func(t *testing.T, _, name string) {
				text := strings.Replace(deployment(name, ""), "containers:", "nodeSelector: {beta.kubernetes.io/os: linux}, containers:", 1)
				text = strings.Replace(text, "labels: {}",
					"ownerReferences: [{apiVersion: example.com/v1, kind: Bird, name: x, uid: x, controller: true}]", 1)
				s.apply(t, deployments, text, "one")
			},
		},
		"create-of-a-deprecated-version": {
			namespace:   "-",
			write:       func(t *testing.T, _, name string) { s.apply(t, classes, fmt.Sprintf(class, name, "1"), "one") },
			deprecation: 1,
		},
		"create-of-a-custom-kind": { // no version of it is known to be deprecated
			write: func(t *testing.T, _, name string) { s.apply(t, birds, fmt.Sprintf(bird, name, 2), "one") },
		},
		"taken-of-an-exempt-object": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, strings.Replace(configMap(ns, name, "a: '2'"), "metadata: {", `metadata: {labels: {k8sconnect.io/exempt: "true"}, `, 1), "two")
			},
		},
		"same-owner-applies": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				for i := range 20 {
					s.apply(t, configMaps, configMap(ns, name, fmt.Sprintf("a: 'again %d'", i)), "one")
				}
			},
		},
		"same-owner-updates": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
				s.update(t, configMaps, ns, name, "two", "2", "data", "b")
			},
			write: func(t *testing.T, ns, name string) {
				for i := range 20 {
					s.update(t, configMaps, ns, name, "two", fmt.Sprint("again ", i), "data", "b")
				}
			},
		},
		"owners-in-turn": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
				s.update(t, configMaps, ns, name, "two", "2", "data", "b")
				s.update(t, configMaps, ns, name, "three", "3", "data", "c")
			},
			write: func(t *testing.T, ns, name string) {
				for i := range 3 {
					s.update(t, configMaps, ns, name, "two", fmt.Sprint("again ", i), "data", "b")
					pause()
					s.update(t, configMaps, ns, name, "three", fmt.Sprint("again ", i), "data", "c")
					pause()
				}
			},
		},
		"takeover-by-force": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '2'"), "two")
			},
			ownership: 1,
		},
		"takeover-by-update": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				s.update(t, configMaps, ns, name, "two", "2", "data", "a")
			},
			ownership: 1,
		},
		"released": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, ""), "one")
			},
			ownership: 1,
		},
		"managed-fields-cleared": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				s.update(t, configMaps, ns, name, "two", []any{map[string]any{}}, "metadata", "managedFields")
			},
			ownership: 1,
		},
		"dry-run": { // edge case 77: also gets the warning
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				_, err := s.in(configMaps, ns).Apply(t.Context(), name, fieldstest.Read(t, configMap(ns, name, "a: '2'")),
					metav1.ApplyOptions{FieldManager: "two", Force: true, DryRun: []string{metav1.DryRunAll}})
				if err != nil {
					t.Fatal(err)
				}
			},
			ownership: 1,
		},
		"delete": {
			before: func(t *testing.T, ns, name string) {
				s.apply(t, configMaps, configMap(ns, name, "a: '1'"), "one")
			},
			write: func(t *testing.T, ns, name string) {
				if err := s.in(configMaps, ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
		},
		// Edge case 71: its reviews contain no owners, but the user. An unchanged number causes one
		// call. The kind has no controller: after a write by one, the server asks again.
		"scale": {
			before: func(t *testing.T, _, name string) { s.apply(t, birds, fmt.Sprintf(bird, name, 2), "one") },
			write: func(t *testing.T, ns, name string) {
				scale := fieldstest.Read(t, fmt.Sprintf("{apiVersion: autoscaling/v1, kind: Scale, metadata: {namespace: %s, name: %s}, spec: {replicas: 3}}", ns, name))
				for range 2 {
					written, err := s.in(birds, ns).Update(t.Context(), scale, metav1.UpdateOptions{FieldManager: "two"}, "scale")
					if err != nil {
						t.Fatal(err)
					}
					s.awaitCache(t, birds, written)
				}
			},
			ownership: 1,
		},
		"status": {
			before: func(t *testing.T, ns, name string) { s.apply(t, birds, fmt.Sprintf(bird, name, 2), "one") },
			write: func(t *testing.T, _, name string) {
				text := "{apiVersion: example.com/v1, kind: Bird, metadata: {namespace: work, name: %s}, status: {flies: true}}"
				s.apply(t, birds, fmt.Sprintf(text, name), "two", "status")
			},
		},
		"lease": { // edge case 78
			before: func(t *testing.T, _, name string) { s.apply(t, leases, fmt.Sprintf(lease, name, "a"), "one") },
			write:  func(t *testing.T, _, name string) { s.apply(t, leases, fmt.Sprintf(lease, name, "b"), "two") },
		},
		"lease-created": {
			write: func(t *testing.T, _, name string) { s.apply(t, leases, fmt.Sprintf(lease, name, "a"), "one") },
		},
		"review": {
			write: func(t *testing.T, _, _ string) {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
				}}
				if _, err := s.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				for _, c := range l.all() {
					if strings.HasSuffix(c.Kind.Kind, "Review") {
						t.Errorf("the webhook was called for %s", c.Kind.Kind)
					}
				}
			},
		},
		"in-kube-system":     {namespace: "kube-system", before: taken(s), write: again(s)},
		"in-kube-node-lease": {namespace: "kube-node-lease", before: taken(s), write: again(s)},
		"in-the-release":     {namespace: "calls-home", before: taken(s), write: again(s)},
		"elsewhere":          {namespace: "default", before: taken(s), write: again(s), ownership: 1},
		"cluster-scoped": { // cluster-scoped: no selector applies
			namespace: "-",
			before:    func(t *testing.T, _, name string) { s.apply(t, classes, fmt.Sprintf(class, name, "1"), "one") },
			write:     func(t *testing.T, _, name string) { s.apply(t, classes, fmt.Sprintf(class, name, "2"), "two") },
			// Through a deprecated version.
			ownership: 1, deprecation: 1,
		},
		"namespace": {
			namespace: "-",
			before: func(t *testing.T, _, name string) {
				s.apply(t, namespaces, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {a: '1'}}}", name), "one")
			},
			write: func(t *testing.T, _, name string) {
				s.apply(t, namespaces, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {a: '2'}}}", name), "two")
			},
			ownership: 1,
		},
		"custom-kind-by-its-owner": {
			before: func(t *testing.T, _, name string) { s.apply(t, birds, fmt.Sprintf(bird, name, 2), "one") },
			write:  func(t *testing.T, _, name string) { s.apply(t, birds, fmt.Sprintf(bird, name, 4), "one") },
		},
		"deprecated-version-by-its-owner": {
			namespace:   "-",
			before:      func(t *testing.T, _, name string) { s.apply(t, classes, fmt.Sprintf(class, name, "1"), "one") },
			write:       func(t *testing.T, _, name string) { s.apply(t, classes, fmt.Sprintf(class, name, "2"), "one") },
			deprecation: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := test.namespace
			switch namespace {
			case "":
				namespace = "work"
			case "-":
				namespace = ""
			}
			if test.before != nil {
				test.before(t, namespace, name)
			}
			// For a Namespace, the API server uses the object itself as its namespace.
			asked := func(path string) int {
				return l.count(namespace, name, path) + l.count(name, name, path)
			}
			ownership, deprecation := asked("/ownership"), asked("/deprecation")
			test.write(t, namespace, name)
			if got := asked("/ownership") - ownership; got != test.ownership {
				t.Errorf("ownership: %d calls, want %d", got, test.ownership)
			}
			if got := asked("/deprecation") - deprecation; got != test.deprecation {
				t.Errorf("deprecation: %d calls, want %d", got, test.deprecation)
			}
		})
	}
	// Edge case 102: the API server calls the webhook for the webhook's dry run of its own
	// ConfigMap, and for no other write to it.
	for _, test := range []struct {
		annotation string
		dryRun     []string
		calls      int
	}{
		{"k8sconnect.io/reach", []string{metav1.DryRunAll}, 1},
		{"example.com/reach", []string{metav1.DryRunAll}, 0},
		{"k8sconnect.io/reach", nil, 0},
	} {
		before := l.count("calls-home", "calls", "/reach")
		_, err := s.in(configMaps, "calls-home").Patch(t.Context(), "calls", types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, test.annotation), metav1.PatchOptions{DryRun: test.dryRun})
		if got := l.count("calls-home", "calls", "/reach") - before; err != nil || got != test.calls {
			t.Errorf("%s, dry run %v: %d calls, want %d (%v)", test.annotation, test.dryRun, got, test.calls, err)
		}
	}
	s.noConditionErrors(t)
}

func service(name, spec string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: work}, spec: {ports: [{port: 80}], " + spec + "}}"
}

// taken and again prepare a takeover, and perform it.
func taken(s site) func(t *testing.T, namespace, name string) {
	return func(t *testing.T, namespace, name string) {
		s.apply(t, configMaps, configMap(namespace, name, "a: '1'"), "one")
	}
}

func again(s site) func(t *testing.T, namespace, name string) {
	return func(t *testing.T, namespace, name string) {
		s.apply(t, configMaps, configMap(namespace, name, "a: '2'"), "two")
	}
}

const birdsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: birds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Bird, listKind: BirdList, plural: birds, singular: bird}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}, scale: {specReplicasPath: .spec.wings, statusReplicasPath: .status.wings}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {wings: {type: integer}}}
            status: {type: object, properties: {flies: {type: boolean}, wings: {type: integer}}}
`

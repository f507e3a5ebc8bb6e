package chart_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// A release's life cycle. Its pods are admitted to a namespace that enforces restricted, and run on
// a kwok node. The webhook's changes to its own objects survive upgrade and rollback, and are gone
// after uninstall.
func TestReleaseLifecycle(t *testing.T) {
	s := newSite(t)
	const release, home = "life", "life-home"
	s.install(t, release, home, "--wait", "--timeout", "2m")
	if ready, _, _ := unstructured.NestedInt64(s.get(t, deployments, home, release).Object, "status", "readyReplicas"); ready != 2 {
		t.Errorf("%d pods are ready, want 2", ready)
	}
	s.fill(t, release, home)
	filled := s.filled(t, release, home)
	if len(filled) != 4 {
		t.Fatalf("the webhook's changes are %v, want 4 of them", filled)
	}
	// A second release would duplicate each warning, so the chart refuses it and names the remedy.
	for _, second := range [][]string{{"second", home, "--take-ownership"}, {"second", home, "--set", "crds.install=false"}, {release, "default", "--take-ownership"}} {
		out, err := s.helm.Try(t.Context(), append([]string{"install", second[0], chart.Dir(t), "--namespace", second[1]}, second[2:]...)...)
		want := fmt.Sprintf("as release %q in namespace %q: upgrade that release, or uninstall it first (helm uninstall %s --namespace %s)", release, home, release, home)
		if err == nil || !strings.Contains(fmt.Sprint(out, err), want) {
			t.Errorf("a second release (%v): %s, %v", second, out, err)
		}
	}
	for _, step := range [][]string{
		{"upgrade", release, chart.Dir(t), "--set", "replicas=3,admission.timeoutSeconds=1,exclude.namespaces={elsewhere}"},
		{"upgrade", release, chart.Dir(t), "--set", "admission.deprecation=true", "--reset-values"},
		{"rollback", release, "1"},
	} {
		s.helm.Run(t, append(step, "--namespace", home)...)
		if diff := cmp.Diff(filled, s.filled(t, release, home)); diff != "" {
			t.Errorf("%s reset what the webhook wrote: %s", step[0], diff)
		}
	}
	s.helm.Run(t, "uninstall", release, "--namespace", home, "--wait")
	if diff := cmp.Diff([]string{"CustomResourceDefinition ownershiprecords.ownership.k8sconnect.io"}, s.left(t, release)); diff != "" {
		t.Error(diff)
	}
	// The records' definition keeps the release's name; another release may adopt it.
	if _, err := s.helm.Try(t.Context(), "install", "other", chart.Dir(t), "--namespace", home); err == nil {
		t.Error("installed over a definition that belongs to another release")
	}
	s.helm.Run(t, "install", "other", chart.Dir(t), "--namespace", home, "--take-ownership")
	s.helm.Run(t, "uninstall", "other", "--namespace", home)
	s.helm.Run(t, "install", "other", chart.Dir(t), "--namespace", home)
	s.helm.Run(t, "uninstall", "other", "--namespace", home)
}

// An upgrade changes the release's mode, and another changes it back. Neither mode leaves anything
// behind except the records and their definition.
func TestModes(t *testing.T) {
	s := newSite(t)
	const release, home, definition = "modes", "modes-home", "CustomResourceDefinition ownershiprecords.ownership.k8sconnect.io"
	s.install(t, release, home)
	full := s.lasting(t, release)
	records := schema.GroupVersionResource{Group: "ownership.k8sconnect.io", Version: "v1alpha1", Resource: "ownershiprecords"}
	record := `{apiVersion: ownership.k8sconnect.io/v1alpha1, kind: OwnershipRecord, metadata: {name: kept, namespace: modes-home},
		object: {apiVersion: v1, kind: ConfigMap, name: a, namespace: x, uid: a}}`
	s.apply(t, records, record, "test")
	policy := []string{
		definition, "ValidatingAdmissionPolicy modes-deprecated", "ValidatingAdmissionPolicy modes-taken",
		"ValidatingAdmissionPolicyBinding modes-deprecated", "ValidatingAdmissionPolicyBinding modes-taken",
	}
	for _, step := range []struct {
		mode string
		want []string
	}{{"policy", policy}, {"full", full}, {"policy", policy}} {
		s.helm.Run(t, "upgrade", release, chart.Dir(t), "--namespace", home, "--set", "mode="+step.mode)
		var left []string
		if !cluster.Until(time.Minute, func() bool { left = s.lasting(t, release); return cmp.Equal(step.want, left) }) {
			t.Errorf("after the upgrade to %s: %s", step.mode, cmp.Diff(step.want, left))
		}
		s.get(t, records, home, "kept")
	}
	if _, err := s.helm.Try(t.Context(), "install", "second", chart.Dir(t), "--namespace", home, "--take-ownership"); err == nil || !strings.Contains(err.Error(), "upgrade that release") {
		t.Errorf("a second release: %v", err)
	}
	s.helm.Run(t, "uninstall", release, "--namespace", home, "--wait")
	if diff := cmp.Diff([]string{definition}, s.left(t, release)); diff != "" {
		t.Error(diff)
	}
}

// lasting returns the release's objects, except those that controllers create and name.
func (s site) lasting(t *testing.T, release string) []string {
	t.Helper()
	made := []string{"Pod ", "ReplicaSet ", "EndpointSlice ", "Endpoints "}
	left := slices.DeleteFunc(s.left(t, release), func(o string) bool {
		return slices.ContainsFunc(made, func(kind string) bool { return strings.HasPrefix(o, kind) })
	})
	slices.Sort(left)
	return slices.Compact(left)
}

// fill writes into the chart's objects what the webhook writes.
func (s site) fill(t *testing.T, release, home string) {
	t.Helper()
	_, bundle := certificateFor(t, release+"."+home+".svc")
	s.trust(t, release, bundle)
	for _, own := range []struct {
		gvr         schema.GroupVersionResource
		name, patch string
	}{
		{secrets, release + "-self-signed", `{"data":{"tls.crt":"YQ==","tls.key":"YQ=="}}`},
		{configMaps, release, `{"data":{"checkpoint":"{}"}}`},
		{leases, release, `{"spec":{"holderIdentity":"pod","leaseDurationSeconds":15}}`},
	} {
		_, err := s.in(own.gvr, home).Patch(t.Context(), own.name, types.MergePatchType, []byte(own.patch),
			metav1.PatchOptions{FieldManager: "k8sconnect-webhook"})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// filled returns the written values, by field.
func (s site) filled(t *testing.T, release, home string) map[string]string {
	t.Helper()
	filled := map[string]string{}
	note := func(where string, o map[string]any, path ...string) {
		if value, found, _ := unstructured.NestedFieldNoCopy(o, path...); found {
			content, _ := json.Marshal(value)
			filled[where] = string(content)
		}
	}
	note("certificate", s.get(t, secrets, home, release+"-self-signed").Object, "data")
	note("checkpoint", s.get(t, configMaps, home, release).Object, "data")
	note("lease", s.get(t, leases, home, release).Object, "spec")
	config := s.get(t, configurations, "", release)
	entries, _, _ := unstructured.NestedSlice(config.Object, "webhooks")
	var bundles []string
	for _, entry := range entries {
		if bundle, found, _ := unstructured.NestedString(entry.(map[string]any), "clientConfig", "caBundle"); found {
			bundles = append(bundles, bundle)
		}
	}
	if len(bundles) == len(entries) {
		filled["caBundle"] = strings.Join(bundles, " ")
	}
	return filled
}

// left lists the release's objects of all kinds that can be listed.
func (s site) left(t *testing.T, release string) []string {
	t.Helper()
	lists, err := s.typed.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list.APIResources {
			if !slices.Contains(kind.Verbs, "list") {
				continue
			}
			found, err := s.Resource(gv.WithResource(kind.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				continue // componentstatuses and similar kinds
			}
			for _, o := range found.Items {
				mine := o.GetLabels()["app.kubernetes.io/instance"] == release || o.GetAnnotations()["meta.helm.sh/release-name"] == release
				if mine && o.GetDeletionTimestamp() == nil {
					left = append(left, o.GetKind()+" "+o.GetName())
				}
			}
		}
	}
	return left
}

// The API server accepts every object of every set of values with strict validation.
func TestObjectsAreAccepted(t *testing.T) {
	s := newSite(t)
	s.namespace(t, "home") // Render's namespace
	mapper := s.mapper(t)
	dir := chart.Dir(t)
	for name, flags := range map[string][]string{
		"default": nil, "everything": {"--values", dir + "/ci/everything.yaml"},
		"cert-manager": {"--values", dir + "/ci/cert-manager.yaml"}, "least": {"--values", dir + "/ci/least.yaml"},
		"policy": {"--values", dir + "/ci/policy.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			tried := 0
			for _, o := range s.helm.Render(t, flags...) {
				mapping, err := mapper(o.GroupVersionKind())
				if meta.IsNoMatchError(err) {
					t.Logf("not served here: %s", o.GroupVersionKind())
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				tried++
				err = s.tryStrictly(t.Context(), mapping, o)
				if err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
			if least := map[bool]int{true: 4, false: 8}[name == "policy"]; tried < least {
				t.Errorf("only %d objects were tried", tried)
			}
		})
	}
}

func (s site) tryStrictly(ctx context.Context, mapping *meta.RESTMapping, o *unstructured.Unstructured) error {
	content, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	request := s.typed.RESTClient().Patch(types.ApplyPatchType)
	prefix := "/apis/" + mapping.Resource.Group
	if mapping.Resource.Group == "" {
		prefix = "/api"
	}
	path := []string{prefix, mapping.Resource.Version}
	if o.GetNamespace() != "" {
		path = append(path, "namespaces", o.GetNamespace())
	}
	path = append(path, mapping.Resource.Resource, o.GetName())
	err = request.AbsPath(path...).Param("fieldManager", "strict").Param("dryRun", "All").Param("force", "true").
		Param("fieldValidation", "Strict").Body(content).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("its kind or namespace does not exist: %w", err)
	}
	return err
}

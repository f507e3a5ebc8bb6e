package owners_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// A line of a fixture: the kind and name; the age in days, or in minutes after the cluster; the managers,
// the first of which wrote most; and further metadata.
type fixture struct {
	object, made, managers, more string
}

// system contains what a cluster and its installer make, as seen on clusters of kind, kubeadm and k3s.
func system() map[string][]fixture {
	common := []fixture{
		{"Namespace/kube-system", "0m", "kube-apiserver", ""},
		{"Namespace/default", "0m", "kube-apiserver", ""},
		{"ConfigMap/default/kube-root-ca.crt", "0m", "kube-controller-manager", ""},
		{"ServiceAccount/default/default", "0m", "", ""},
		{"Service/default/kubernetes", "0m", "kube-apiserver", "labels: {component: apiserver, provider: kubernetes}"},
		{"ClusterRole/cluster-admin", "0m", "kube-apiserver", "labels: {kubernetes.io/bootstrapping: rbac-defaults}"},
		{"ClusterRole/admin", "0m", "kube-apiserver clusterrole-aggregation-controller", "labels: {kubernetes.io/bootstrapping: rbac-defaults}"},
		{"FlowSchema/exempt", "0m", "api-priority-and-fairness-config-producer-v1", "annotations: {apf.kubernetes.io/autoupdate-spec: \"true\"}"},
		{"APIService/v1.apps", "0m", "kube-apiserver", "labels: {kube-aggregator.kubernetes.io/automanaged: onstart}"},
		{"PriorityClass/system-node-critical", "0m", "kube-apiserver", ""},
		{"Lease/kube-node-lease/node-1", "1m", "kubelet", ""},
		{"Node/node-1", "1m", "kubelet kube-controller-manager", "annotations: {node.alpha.kubernetes.io/ttl: \"0\"}"},
		{"CSINode/node-1", "1m", "kubelet", "ownerReferences: [{apiVersion: v1, kind: Node, name: node-1, uid: a}]"},
		{"ReplicaSet/shop/web-1", "9d", "kube-controller-manager", "ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: a}]"},
		{"EndpointSlice/shop/web-x7f", "9d", "kube-controller-manager", "labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}"},
		{"Secret/shop/default-token-x7f", "9d", "kube-controller-manager", "annotations: {kubernetes.io/service-account.name: default}"},
		{"PersistentVolume/pvc-1", "9d", "local-path-provisioner", "annotations: {pv.kubernetes.io/provisioned-by: rancher.io/local-path}"},
		{"PersistentVolumeClaim/shop/data-db-0", "9d", "kube-controller-manager", ""},
		{"ServiceAccount/shop/default", "9d", "", ""},
		{"NodeMetrics/node-1", "0d", "", ""}, // computed by an aggregated API
		{"ServiceAccount/kube-system/bare", "9d", "", ""},
	}
	return map[string][]fixture{
		"kind": append(slices.Clone(common),
			fixture{"DaemonSet/kube-system/kindnet", "1m", "kubectl-create kube-controller-manager", ""},
			fixture{"ClusterRole/kindnet", "1m", "kubectl-create", ""},
			fixture{"Namespace/local-path-storage", "1m", "kubectl-client-side-apply", ""},
			fixture{"Deployment/local-path-storage/local-path-provisioner", "1m", "kubectl-client-side-apply kube-controller-manager", ""},
			fixture{"StorageClass/standard", "1m", "kubectl-client-side-apply", ""},
			fixture{"ConfigMap/kube-public/cluster-info", "0m", "kubeadm kube-controller-manager", ""},
		),
		"kubeadm": append(slices.Clone(common),
			fixture{"ConfigMap/kube-system/kubeadm-config", "0m", "kubeadm", ""},
			fixture{"Deployment/kube-system/coredns", "0m", "kubeadm kube-controller-manager", "labels: {k8s-app: kube-dns}"},
			fixture{"ClusterRole/system:coredns", "0m", "kubeadm", ""},
			fixture{"ClusterRoleBinding/kubeadm:node-proxier", "40d", "kubeadm", ""}, // by a later kubeadm upgrade
			fixture{"CertificateSigningRequest/csr-2x", "9d", "kubelet kube-controller-manager", ""},
			fixture{"Secret/kube-system/bootstrap-token-abc", "9d", "kubeadm", ""},
		),
		"k3s": append(slices.Clone(common),
			fixture{"Addon/kube-system/coredns", "0m", "k3s", ""},
			fixture{"ClusterRole/local-path-provisioner-role", "0m", "deploy@node-1", "labels: {objectset.rio.cattle.io/hash: a}"},
			fixture{"HelmChart/kube-system/traefik", "0m", "deploy@node-1 helm-controller@node-1", "labels: {objectset.rio.cattle.io/hash: a}"},
			fixture{"StorageClass/local-path", "0m", "deploy@node-1", "labels: {objectset.rio.cattle.io/hash: a}"},
			fixture{"ClusterRole/k3s-cloud-controller-manager", "20d", "k3s-supervisor@node-1", ""},
			fixture{"IngressClass/traefik", "2m", "helm", "labels: {app.kubernetes.io/managed-by: Helm}"},
		),
	}
}

// tools contains what tools manage, and planted what no tool manages, the oldest first.
func tools() []fixture {
	return []fixture{
		{"Deployment/shop/web", "9d", "helm kubectl-edit", "annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"},
		{"Secret/shop/sh.helm.release.v1.web.v1", "9d", "helm", "labels: {owner: helm, name: web}"},
		{"Deployment/shop/api", "9d", "kustomize-controller", "labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}"},
		{"Deployment/shop/cart", "9d", "argocd-controller", "annotations: {\"argocd.argoproj.io/tracking-id\": \"cart:apps/Deployment:shop/cart\"}"},
		{"Service/shop/legacy", "50d", "kubectl-client-side-apply", "labels: {argocd.argoproj.io/instance: legacy}"},
		{"ConfigMap/shop/member", "50d", "k8sconnect", "labels: {applyset.kubernetes.io/part-of: applyset-x-v1}"},
		{"Secret/shop/set", "50d", "k8sconnect-applyset", "labels: {applyset.kubernetes.io/id: applyset-x-v1}"},
		{"ConfigMap/shop/leader", "50d", "operator@1d", ""},
		{"ConfigMap/shop/operated", "50d", "operator@40d", ""},  // The operator has written elsewhere since.
		{"ConfigMap/shop/applied", "50d", "k8sconnect@40d", ""}, // This plugin has written elsewhere since.
		{"ConfigMap/shop/later", "9d", "helm k8sconnect@1d", "annotations: {meta.helm.sh/release-name: web}"},
		{"ServiceAccount/shop/released", "9d", "", "annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"},
		{"Database/shop/orders", "9d", "operator@9d kubectl-edit", "ownerReferences: [{apiVersion: v1, kind: Shop, name: s, uid: a}]"},
	}
}

func planted() []fixture {
	return []fixture{
		{"StorageClass/fast", "90d", "kubectl-create", ""},
		{"Deployment/shop/tuist", "43d", "kubectl-client-side-apply kube-controller-manager", ""},
		{"CustomResourceDefinition/old.example.com", "42d", "gone-operator@41d", ""},
		{"Namespace/shop", "41d", "kubectl-create", ""},
		{"ConfigMap/shop/console", "8d", "Mozilla", ""},
		{"ServiceAccount/shop/builder", "7d", "", ""}, // made with only a name
		{"Ingress/shop/web", "6d", "kubectl-edit cert-manager-ingress@1d", ""},
		{"ClusterRoleBinding/emergency", "5d", "kubectl-create", ""},
		{"Job/default/debug", "4d", "k9s", ""},
	}
}

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func (f fixture) read(t *testing.T, cluster time.Time) *unstructured.Unstructured {
	t.Helper()
	parts := strings.Split(f.object, "/")
	at := func(age string) time.Time {
		d, err := time.ParseDuration(strings.TrimSuffix(strings.TrimSuffix(age, "d"), "m") + "m")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(age, "d") {
			return now.Add(-d * 24 * 60)
		}
		return cluster.Add(d)
	}
	u := fieldstest.Read(t, "{apiVersion: v1, kind: "+parts[0]+", metadata: {name: \""+parts[len(parts)-1]+"\", "+f.more+"}}")
	if len(parts) > 2 {
		u.SetNamespace(parts[1])
	}
	u.SetCreationTimestamp(metav1.NewTime(at(f.made)))
	var entries []metav1.ManagedFieldsEntry
	fields := `{"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:a": {}, "f:b": {}}}`
	for manager := range strings.FieldsSeq(f.managers) {
		written := at(f.made)
		if name, age, dated := strings.Cut(manager, "@"); dated && strings.HasSuffix(age, "d") {
			manager, written = name, at(age)
		}
		stamp := metav1.NewTime(written)
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &stamp,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		})
		fields = `{"f:metadata": {"f:annotations": {"f:b": {}}}}`
	}
	u.SetManagedFields(entries)
	if !strings.HasSuffix(parts[0], "Metrics") {
		u.SetUID("a")
	}
	return u
}

// On clusters of three kinds, the result contains every object that no tool manages, the oldest first, and
// none of the system.
func TestUnmanaged(t *testing.T) {
	for name, fixtures := range system() {
		t.Run(name, func(t *testing.T) {
			cluster := now.AddDate(0, 0, -100)
			all := owners.NewUnmanaged()
			for i, f := range slices.Concat(fixtures, tools(), planted()) {
				one := owners.NewUnmanaged()
				if err := one.Add(f.read(t, cluster)); err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				all.Merge(one)
			}
			var got, want []string
			for _, o := range all.Result(now).Found {
				got = append(got, strings.ReplaceAll(strings.Join([]string{o.Ref.GVK.Kind, o.Ref.Namespace, o.Ref.Name}, "/"), "//", "/"))
			}
			for _, f := range planted() {
				want = append(want, f.object)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// In a young cluster, the installation is not known by its age.
func TestUnmanagedYoung(t *testing.T) {
	all := owners.NewUnmanaged()
	for _, f := range []fixture{{"Namespace/kube-system", "0m", "kube-apiserver", ""}, {"ConfigMap/default/a", "1m", "kubectl-create", ""}, {"ConfigMap/kube-system/b", "1m", "kubectl-create", ""}} {
		if err := all.Add(f.read(t, now.Add(-10*time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	if found := all.Result(now).Found; len(found) != 1 || found[0].Ref.Name != "a" || !found[0].Person || found[0].Manager != "kubectl-create" {
		t.Errorf("%+v", found)
	}
}

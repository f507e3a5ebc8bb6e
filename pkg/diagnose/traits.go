package diagnose

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// traits identify an object's controller.
type traits struct {
	operator string
	names    []managerName
	// domains may occur in the name of the controller's Lease. groups are the API groups to which
	// the controller has rights.
	domains, groups []string
	// definition is the CRD of the kind, if it was read.
	definition *unstructured.Unstructured
}

type managerName struct{ name, whose string }

// traitsOf returns the traits of the finalizer's controller or, without a finalizer, of the kind's
// controller.
func (r *Run) traitsOf(u *unstructured.Unstructured, finalizer string) traits {
	group := u.GroupVersionKind().Group
	t := traits{domains: []string{group}, groups: []string{group}}
	finalizers, own := ownFinalizers(u), true
	if finalizer != "" {
		own = slices.Contains(finalizers, finalizer)
		finalizers = []string{finalizer}
		t = traits{domains: []string{domainOf(finalizer)}, groups: []string{domainOf(finalizer)}}
		if !object.IsReserved(group) {
			t.groups = append(t.groups, group)
		}
	}
	for _, f := range finalizers {
		op := operatorOf(f)
		t.operator = op.name
		for _, name := range append(managers(u, f), op.workloads...) {
			t.names = append(t.names, managerName{name, "the finalizer's owner"})
		}
		t.domains, t.groups = append(t.domains, domainOf(f)), append(t.groups, domainOf(f))
	}
	if own && !object.IsReserved(group) {
		t.domains = append(t.domains, group)
		t.definition = r.Definition(u)
		if name := StatusManager(u); !tool(name) && !generic(name) {
			t.names = append(t.names, managerName{name, "the manager of its status"})
		}
	}
	t.names, t.domains, t.groups = text.Distinct(t.names), text.Distinct(t.domains), text.Distinct(t.groups)
	return t
}

// ownFinalizers returns the object's finalizers whose names show that the kind's controller sets
// them.
func ownFinalizers(u *unstructured.Unstructured) []string {
	return slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool {
		return !related(domainOf(f), u.GroupVersionKind().Group)
	})
}

// managers returns the names of the managers that set the finalizer. It omits tools that people
// use, and names that many controllers share.
func managers(u *unstructured.Unstructured, finalizer string) []string {
	var names []string
	for _, o := range Setters(u, finalizer) {
		if !tool(o.Manager) && !generic(o.Manager) {
			names = append(names, o.Manager)
		}
	}
	return slices.Compact(names)
}

// StatusManager returns the manager that last wrote the status, or "".
func StatusManager(u *unstructured.Unstructured) string {
	latest, at := "", ""
	for _, m := range u.GetManagedFields() {
		wrote := ""
		if m.Time != nil {
			wrote = m.Time.UTC().Format("20060102150405")
		}
		if m.Subresource == "status" && wrote >= at {
			latest, at = m.Manager, wrote
		}
	}
	return latest
}

// domainOf returns example.com for the finalizer example.com/hold.
func domainOf(finalizer string) string {
	domain, _, _ := strings.Cut(finalizer, "/")
	return domain
}

// related reports whether the domains are equal or one is a subdomain of the other.
func related(a, b string) bool {
	if !strings.Contains(a, ".") || !strings.Contains(b, ".") {
		return false
	}
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// Definition returns the CRD of the object's kind, if it is known.
func (r *Run) Definition(u *unstructured.Unstructured) *unstructured.Unstructured {
	gvk := u.GroupVersionKind()
	definitions := KindOf("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	guessed, _ := meta.UnsafeGuessKindToResource(gvk)
	q := Question{Verb: Get, GVK: definitions, Name: guessed.Resource + "." + gvk.Group}
	if a, ok := r.Facts.Find(Question{Verb: Kinds}); ok && a.Err == nil {
		kind, served := r.Kind(u)
		if !served {
			return nil
		}
		crd, _ := r.Get(definitions, "", kind.Resource+"."+gvk.Group)
		return crd
	}
	defines := func(crd *unstructured.Unstructured) bool {
		return crd != nil && Text(crd, "spec", "group") == gvk.Group && Text(crd, "spec", "names", "kind") == gvk.Kind
	}
	misses := r.misses
	if a, _ := r.Ask(q); defines(a.Object) || r.misses > misses {
		return a.Object
	}
	r.Excuse(q) // The list below replaces it.
	a, _ := r.Collect(Question{Verb: List, GVK: definitions, Kept: "of " + gvk.GroupKind().String()}, Matching(defines))
	if len(a.Objects) == 0 {
		return nil
	}
	return a.Objects[0]
}

// tool reports whether the manager is unknown, or is a tool with which people write objects, such
// as kubectl or Helm.
func tool(manager string) bool {
	switch manager {
	case "", "unknown", "before-first-apply", "helm", "k8sconnect", "Terraform", "pulumi-kubernetes", "node-fetch", "Mozilla", "curl":
		return true
	}
	return strings.HasPrefix(manager, "kubectl")
}

func generic(manager string) bool {
	switch manager {
	case "manager", "controller", "controller-manager", "operator", "main":
		return true
	}
	return false
}

type operator struct {
	name string
	// workloads lists names of workloads, or values of their label app.kubernetes.io/name.
	workloads []string
}

// The name of a well-known finalizer often does not reveal its operator.
func operatorOf(finalizer string) operator {
	certManager := operator{"cert-manager", []string{"cert-manager"}}
	argoCD := operator{"Argo CD", []string{"argocd-application-controller", "argocd-applicationset-controller"}}
	flux := operator{"Flux", []string{
		"kustomize-controller", "helm-controller", "source-controller",
		"notification-controller", "image-automation-controller", "image-reflector-controller",
	}}
	awsLoadBalancer := operator{"the AWS Load Balancer Controller", []string{"aws-load-balancer-controller"}}
	for _, known := range []struct {
		finalizer string // an asterisk at the beginning or end matches anything
		operator
	}{
		{"finalizer.acme.cert-manager.io", certManager},
		{"acme.cert-manager.io/finalizer", certManager},
		{"*.argocd.argoproj.io", argoCD},
		{"*.argocd.argoproj.io/*", argoCD},
		{"finalizers.fluxcd.io", flux},
		{"*.apiextensions.crossplane.io", operator{"Crossplane", []string{"crossplane"}}},
		{"finalizer.managedresource.crossplane.io", operator{name: "a Crossplane provider"}},
		{"in-use.crossplane.io", operator{name: "a Crossplane provider"}},
		{"*external-secrets.io/*", operator{"External Secrets", []string{"external-secrets"}}},
		{"service.k8s.aws/resources", awsLoadBalancer},
		{"ingress.k8s.aws/resources", awsLoadBalancer},
		{"group.ingress.k8s.aws/*", awsLoadBalancer},
		{"elbv2.k8s.aws/resources", awsLoadBalancer},
		{"strimzi.io/topic-operator", operator{"Strimzi's topic operator", []string{"topic-operator"}}},
		{"longhorn.io", operator{"Longhorn", []string{"longhorn-manager"}}},
		{"*.ceph.rook.io", operator{"Rook", []string{"rook-ceph-operator"}}},
		{"*.velero.io/*", operator{"Velero", []string{"velero"}}},
		{"apps.victoriametrics.com/finalizer", operator{"the VictoriaMetrics operator", []string{"victoria-metrics-operator", "vm-operator"}}},
		{"karpenter.sh/termination", operator{"Karpenter", []string{"karpenter"}}},
		{"karpenter.k8s.aws/termination", operator{"Karpenter", []string{"karpenter"}}},
		{"*.cluster.x-k8s.io", operator{"Cluster API", []string{"capi-controller-manager"}}},
		{"finalizer.keda.sh", operator{"KEDA", []string{"keda-operator"}}},
		{"external-attacher/*", operator{"the CSI driver's attacher", []string{"csi-attacher"}}},
		{"external-provisioner.volume.kubernetes.io/finalizer", operator{"the CSI driver's provisioner", []string{"csi-provisioner"}}},
		{"snapshot.storage.kubernetes.io/*", operator{"the CSI snapshot controller", []string{"snapshot-controller"}}},
		{"gateway-exists-finalizer.gateway.networking.k8s.io", operator{name: "the Gateway API implementation"}},
	} {
		if matches(known.finalizer, finalizer) {
			return known.operator
		}
	}
	return operator{}
}

func matches(pattern, s string) bool {
	middle, open := strings.CutSuffix(pattern, "*")
	end, free := strings.CutPrefix(middle, "*")
	switch {
	case free && open:
		return strings.Contains(s, end)
	case free:
		return strings.HasSuffix(s, end)
	case open:
		return strings.HasPrefix(s, middle)
	default:
		return s == pattern
	}
}

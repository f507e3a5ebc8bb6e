package owners

import (
	"cmp"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// GoneAfter is the time without a write after which a tool counts as gone.
const GoneAfter = 30 * 24 * time.Hour

const (
	// installing is how long the installation of a cluster takes. In a cluster that is younger than
	// settling, objects of the installation cannot be told from others by their age.
	installing = 15 * time.Minute
	settling   = time.Hour
)

// Unmanaged finds the objects that no tool manages. It reads only metadata, and is not safe for
// concurrent use: give each goroutine its own, and merge them.
type Unmanaged struct {
	objects int
	found   []event.UnmanagedObject
	// written contains the last write of each manager in any object. cluster is the age of kube-system.
	written map[string]time.Time
	cluster time.Time
}

// NewUnmanaged returns an empty collector.
func NewUnmanaged() *Unmanaged { return &Unmanaged{written: map[string]time.Time{}} }

// Add examines the metadata of an object.
func (c *Unmanaged) Add(u *unstructured.Unstructured) error {
	c.objects++
	if u.GetKind() == "Namespace" && u.GetName() == "kube-system" {
		c.cluster = u.GetCreationTimestamp().Time
	}
	entries, err := managedfields.Entries(u)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Time.After(c.written[e.Manager]) {
			c.written[e.Manager] = e.Time
		}
	}
	if isManaged(u) || isOfSystem(u) {
		return nil
	}
	if isUnrecorded(u, entries) {
		c.found = append(c.found, event.UnmanagedObject{Ref: object.RefOf(u), Created: u.GetCreationTimestamp().Time})
	} else if maker, ok := makerOf(entries); ok && !isInstaller(maker.Manager) {
		c.found = append(c.found, event.UnmanagedObject{
			Ref: object.RefOf(u), Manager: maker.Manager, Created: u.GetCreationTimestamp().Time, Written: maker.Time,
		})
	}
	return nil
}

// Merge adds what another collector has found.
func (c *Unmanaged) Merge(other *Unmanaged) {
	c.objects += other.objects
	c.found = append(c.found, other.found...)
	if !other.cluster.IsZero() {
		c.cluster = other.cluster
	}
	for manager, at := range other.written {
		if at.After(c.written[manager]) {
			c.written[manager] = at
		}
	}
}

// Result returns the objects that people have made, or a tool that has written nothing for [GoneAfter], or of
// which the server has recorded no manager, the oldest first.
func (c *Unmanaged) Result(now time.Time) event.Unmanaged {
	out := event.Unmanaged{Objects: c.objects}
	for _, o := range c.found {
		o.LastOfManager = c.written[o.Manager]
		o.Person = isPerson(o.Manager)
		if (o.Person || o.Manager == "" || now.Sub(o.LastOfManager) > GoneAfter) && !c.isOfInstallation(o, now) {
			out.Found = append(out.Found, o)
		}
	}
	slices.SortFunc(out.Found, func(a, b event.UnmanagedObject) int {
		return cmp.Or(a.Created.Compare(b.Created), a.Ref.Compare(b.Ref))
	})
	return out
}

// isOfInstallation reports whether an object was made while the cluster was installed: installers use
// kubectl, too.
func (c *Unmanaged) isOfInstallation(o event.UnmanagedObject, now time.Time) bool {
	if c.cluster.IsZero() || now.Sub(c.cluster) < settling {
		return false
	}
	return o.Created.Sub(c.cluster) < installing
}

// isUnrecorded reports whether the server has recorded no manager of a stored object, because the object was
// made with only a name. Objects that an aggregated API computes have no UID. The control plane makes an
// account named default in each namespace.
// https://kubernetes.io/docs/concepts/security/service-accounts/#default-service-accounts
func isUnrecorded(u *unstructured.Unstructured, entries []managedfields.Entry) bool {
	return len(entries) == 0 && u.GetUID() != "" && (u.GetKind() != "ServiceAccount" || u.GetName() != "default")
}

// makerOf returns the owner of most of an object's fields, apart from metadata and status; if there are
// no such fields, of most of its metadata. It returns false if Kubernetes itself is that owner, or if
// there is none.
func makerOf(entries []managedfields.Entry) (managedfields.Owner, bool) {
	var maker managedfields.Owner
	most := [2]int{}
	for _, e := range entries {
		if e.Subresource != "" {
			continue
		}
		var held [2]int
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			switch *p[0].FieldName {
			case "status":
			case "metadata":
				held[1]++
			default:
				held[0]++
			}
		})
		if held == [2]int{} {
			continue
		}
		if order := cmp.Or(cmp.Compare(held[0], most[0]), cmp.Compare(held[1], most[1])); order > 0 || order == 0 && e.Time.Before(maker.Time) {
			maker, most = e.Owner, held
		}
	}
	return maker, most != [2]int{} && !managedfields.IsControlPlane(maker.Manager) && !managedfields.IsBookkeeper(maker.Manager)
}

// isManaged reports whether an object names what manages it: an owner, a set, a Helm release, or the
// tool that applies it.
func isManaged(u *unstructured.Unstructured) bool {
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	has := func(in map[string]string, keys []string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return in[key] != "" })
	}
	return len(u.GetOwnerReferences()) > 0 || len(applyset.Claims(u, "")) > 0 ||
		labels["app.kubernetes.io/managed-by"] == "Helm" || labels["owner"] == "helm" || labels["OWNER"] == "TILLER" ||
		has(labels, []string{
			applyset.PartOfLabel, "applyset.kubernetes.io/id", // https://kubernetes.io/docs/reference/labels-annotations-taints/
			"kapp.k14s.io/app", "kapp.k14s.io/is-app", // https://carvel.dev/kapp/docs/latest/state-namespace/
			"olm.owner",                    // https://olm.operatorframework.io/
			"objectset.rio.cattle.io/hash", // Fleet, k3s and RKE2
			"kluctl.io/discriminator",      // https://kluctl.io/docs/
			"crossplane.io/composite",      // https://docs.crossplane.io/
		}) ||
		has(annotations, []string{"objectset.rio.cattle.io/id", "kluctl.io/deployment", "config.kubernetes.io/owning-inventory", "pv.kubernetes.io/provisioned-by"})
}

// isOfSystem reports whether Kubernetes marks an object as made by itself or by its installer.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
func isOfSystem(u *unstructured.Unstructured) bool {
	if ok, _ := path.Match("kube-*", u.GetNamespace()); ok {
		return true
	}
	for _, key := range []string{
		"kubernetes.io/bootstrapping", "addonmanager.kubernetes.io/mode", "kubernetes.io/cluster-service", "kube-aggregator.kubernetes.io/automanaged",
		"addon.kops.k8s.io/name", "endpointslice.kubernetes.io/managed-by", "node.kubernetes.io/instance-type",
	} {
		if u.GetLabels()[key] != "" {
			return true
		}
	}
	for _, key := range []string{
		"apf.kubernetes.io/autoupdate-spec", "kubernetes.io/config.mirror", "kubernetes.io/service-account.name", "k3s.cattle.io/k3s-version-channel",
		"node.alpha.kubernetes.io/ttl", "endpoints.kubernetes.io/last-change-trigger-time",
	} {
		if _, has := u.GetAnnotations()[key]; has {
			return true
		}
	}
	return false
}

// isInstaller reports whether a manager is a part of a distribution or of its installer. The API server's
// own controllers write under their User-Agent, too.
func isInstaller(manager string) bool {
	return slices.ContainsFunc([]string{
		"kubeadm", "kops*", "k3s*", "rke2*", "k0s*", "deploy@*", "helm-controller@*", "kube-*", "kubelet*", "*-controller-manager",
		"api-priority-and-fairness-*", "apiserver*", "node-fetcher", "service-account-controller", "coredns", "flanneld",
	}, func(pattern string) bool {
		match, err := path.Match(pattern, manager)
		return err == nil && match
	})
}

// isPerson reports whether people write under this name. A pipeline that runs kubectl has the same name. This
// plugin is a tool: what it applied without a set counts as managed as long as it applies anything.
func isPerson(manager string) bool {
	return managedfields.IsPerson(manager) || slices.Contains([]string{
		"kubectl", managedfields.ClientSideApply, managedfields.BeforeFirstApply, "k9s", "Mozilla", "curl", "lens", "OpenLens",
	}, manager)
}

// InCluster sets the time at which the cluster was made, if the objects do not include kube-system.
func (c *Unmanaged) InCluster(made time.Time) { c.cluster = made }

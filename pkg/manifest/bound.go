package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// bound is a field that ties an object to its place in one cluster, or to another object there. In
// a copy it is refused or, worse, accepted: the garbage collector deletes an object whose owners
// are elsewhere, and a claim that names the volume of another claim is lost.
type bound struct {
	kind schema.GroupKind // The zero value stands for every kind.
	// path is the path of the field. "*" stands for every item of a list.
	path []string
	// in limits the row to objects for which it returns true; nil means no limit.
	in func(fields map[string]any) bool
	// is limits the row to values for which it returns true; nil means no limit.
	is func(value any) bool
	// name replaces the path in messages; it may be empty.
	name string
}

// boundFields returns the table. A comment above each group names the source of the rows. The test
// of the table applies a copy with each row to a real API server.
func boundFields() []bound {
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	var (
		job         = schema.GroupKind{Group: "batch", Kind: "Job"}
		autoscaler  = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
		snapshotted = schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotContent"}
	)
	const (
		tokenVolume = "the kube-api-access volume"
		jobLabels   = "the labels controller-uid and job-name"
	)
	rows := []bound{
		// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
		{path: []string{"metadata", "ownerReferences"}},

		// https://kubernetes.io/docs/concepts/storage/persistent-volumes/#binding, #reserving-a-persistentvolume
		{kind: core("PersistentVolumeClaim"), path: []string{"spec", "volumeName"}},
		{kind: core("PersistentVolume"), path: []string{"spec", "claimRef", "uid"}},
		{kind: core("PersistentVolume"), path: []string{"spec", "claimRef", "resourceVersion"}},
		// https://kubernetes.io/docs/concepts/storage/volume-snapshots/#provisioning-volume-snapshot
		{kind: snapshotted, path: []string{"spec", "volumeSnapshotRef", "uid"}},
		{kind: snapshotted, path: []string{"spec", "volumeSnapshotRef", "resourceVersion"}},

		// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
		{kind: job, path: []string{"spec", "selector"}, in: hasGeneratedSelector},

		// https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/
		{kind: core("Service"), path: []string{"spec", "clusterIP"}, is: isAddress},
		{kind: core("Service"), path: []string{"spec", "clusterIPs"}, is: areAddresses},
		{kind: core("Service"), path: []string{"spec", "ports", "*", "nodePort"}},
		{kind: core("Service"), path: []string{"spec", "healthCheckNodePort"}},

		// https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename
		{kind: core("Pod"), path: []string{"spec", "nodeName"}},
		// https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/
		{kind: core("Pod"), path: []string{"spec", "ephemeralContainers"}},
		// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-token-volume
		{kind: core("Pod"), path: []string{"spec", "volumes", "*"}, is: isTokenVolume, name: tokenVolume},
		{kind: core("Pod"), path: []string{"spec", "containers", "*", "volumeMounts", "*"}, is: isTokenVolume, name: tokenVolume},
		{kind: core("Pod"), path: []string{"spec", "initContainers", "*", "volumeMounts", "*"}, is: isTokenVolume, name: tokenVolume},

		// The token controller deletes a token Secret of another service account's UID.
		// https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets
		{kind: core("Secret"), path: []string{"data", "token"}, in: isToken},
		{kind: core("Secret"), path: []string{"data", "ca.crt"}, in: isToken},
		{kind: core("Secret"), path: []string{"data", "namespace"}, in: isToken},
		{kind: core("Secret"), path: []string{"metadata", "annotations", "kubernetes.io/service-account.uid"}, in: isToken},
	}
	// https://kubernetes.io/docs/reference/labels-annotations-taints/
	annotations := func(kind schema.GroupKind, names ...string) {
		for _, name := range names {
			rows = append(rows, bound{kind: kind, path: []string{"metadata", "annotations", name}})
		}
	}
	annotations(core("PersistentVolumeClaim"),
		"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node",
		"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
		"volume.kubernetes.io/storage-resizer")
	annotations(core("PersistentVolume"), "pv.kubernetes.io/bound-by-controller")
	annotations(core("Pod"),
		"kubernetes.io/limit-ranger", "cni.projectcalico.org/containerID", "cni.projectcalico.org/podIP",
		"cni.projectcalico.org/podIPs", "k8s.v1.cni.cncf.io/network-status")
	annotations(core("Endpoints"), "endpoints.kubernetes.io/last-change-trigger-time")
	annotations(job, "batch.kubernetes.io/job-tracking", "batch.kubernetes.io/cronjob-scheduled-timestamp")
	annotations(autoscaler, "autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics")
	rows = append(rows, bound{kind: core("Namespace"), path: []string{"metadata", "labels", "kubernetes.io/metadata.name"}})
	for _, name := range []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"} {
		rows = append(rows,
			bound{kind: job, path: []string{"metadata", "labels", name}, in: hasGeneratedSelector, name: jobLabels},
			bound{kind: job, path: []string{"spec", "template", "metadata", "labels", name}, in: hasGeneratedSelector, name: jobLabels},
			bound{kind: core("Pod"), path: []string{"metadata", "labels", name}, name: jobLabels})
	}
	// With these labels, the controller of the original Pod adopts the copy and may delete it.
	for _, name := range []string{
		"pod-template-hash", "controller-revision-hash", "pod-template-generation",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
	} {
		rows = append(rows, bound{kind: core("Pod"), path: []string{"metadata", "labels", name}})
	}
	return rows
}

func hasGeneratedSelector(job map[string]any) bool {
	manual, _, _ := unstructured.NestedBool(job, "spec", "manualSelector")
	return !manual
}

func isToken(secret map[string]any) bool {
	return secret["type"] == "kubernetes.io/service-account-token"
}

func isAddress(value any) bool { return value != "" && value != "None" }

func areAddresses(value any) bool {
	list, _ := value.([]any)
	return slices.ContainsFunc(list, isAddress)
}

// isTokenVolume reports whether a volume or a mount is the one that the API server adds for the
// token of the service account.
func isTokenVolume(value any) bool {
	item, _ := value.(map[string]any)
	name, _ := item["name"].(string)
	return strings.HasPrefix(name, "kube-api-access-")
}

// isStored reports whether an object was read from a cluster. Other fields that only a server sets do
// not prove it: people paste them into manifests of their own, and kops writes resourceVersion "0"
// into a Service whose address must stay.
func isStored(u *unstructured.Unstructured) bool {
	version := u.GetResourceVersion()
	return u.GetUID() != "" || version != "" && version != "0"
}

// unbind removes the bound fields from a copy. It returns the copy's origin, or nil if the copy has
// no bound fields.
func (r *reader) unbind(fields map[string]any, path []any, uid types.UID) *object.Origin {
	kind := (&unstructured.Unstructured{Object: fields}).GroupVersionKind().GroupKind()
	var origin *object.Origin
	for _, row := range boundFields() {
		if row.kind != (schema.GroupKind{}) && row.kind != kind || row.in != nil && !row.in(fields) {
			continue
		}
		found := matching(fields, row.path, nil)
		for _, steps := range slices.Backward(found) { // Backward, so that the positions stay valid.
			value := valueAt(fields, steps)
			if isEmpty(value) && value != "" || row.is != nil && !row.is(value) {
				continue
			}
			if origin == nil {
				origin = &object.Origin{UID: uid, Object: (&unstructured.Unstructured{Object: fields}).DeepCopy().Object}
			}
			name := row.name
			if name == "" {
				name = strings.TrimPrefix(yamldoc.PathText(steps), ".")
			}
			origin.Bound = append(origin.Bound, object.BoundField{Name: name, Field: row.path[:2], Source: r.SourceOf(under(path, steps...))})
			removeAt(fields, steps)
		}
	}
	return origin
}

// matching returns the paths of keys and positions that the pattern matches.
func matching(value any, pattern []string, at []any) [][]any {
	if len(pattern) == 0 {
		return [][]any{at}
	}
	if list, ok := value.([]any); ok && pattern[0] == "*" {
		var out [][]any
		for i, item := range list {
			out = append(out, matching(item, pattern[1:], under(at, i))...)
		}
		return out
	}
	m, _ := value.(map[string]any)
	below, ok := m[pattern[0]]
	if !ok {
		return nil
	}
	return matching(below, pattern[1:], under(at, pattern[0]))
}

func valueAt(value any, steps []any) any {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

// removeAt removes a field, and the lists and maps that are empty without it, except spec.
func removeAt(value any, steps []any) {
	for n := len(steps); n > 0; n-- {
		parent := valueAt(value, steps[:n-1])
		switch step := steps[n-1].(type) {
		case string:
			delete(parent.(map[string]any), step)
		case int:
			if n == 1 {
				return
			}
			rest := slices.Delete(slices.Clone(parent.([]any)), step, step+1)
			switch key := steps[n-2].(type) {
			case string:
				valueAt(value, steps[:n-2]).(map[string]any)[key] = rest
			case int:
				valueAt(value, steps[:n-2]).([]any)[key] = rest
			}
			parent = rest
		}
		if !isEmpty(parent) || n == 2 && steps[0] == "spec" {
			return
		}
	}
}

package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// lastApplied is where client-side apply keeps a copy of the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// withoutServerFields removes from an object what only a server can have written,
// which is present when the object was copied from a cluster. It returns a warning
// that names what was removed, or nothing.
//
// In a server-side apply, the API server (1.36) treats them as follows:
//   - managedFields, even empty: the request is refused (KEP-555).
//   - uid: refused unless the object exists and has this very uid.
//   - resourceVersion: refused unless the object is still at this version; an
//     object that does not exist is accepted.
//   - deletionTimestamp, deletionGracePeriodSeconds: refused as immutable.
//   - creationTimestamp, generation, selfLink: ignored.
//   - the last-applied annotation: owned as it was at the time of the copy; it
//     misleads the next client-side apply, and shows what a Secret once held.
//
// An author can mean uid and resourceVersion as preconditions. In a file that is
// kept and applied again they hold at most once, so they are taken for a copy's.
//
// status is harder. Where it is a subresource, the server ignores it. In a custom
// kind without that subresource it is a field like any other, which the author may
// mean and whose applier owns it. So it is left out only where something else shows
// that the object is a copy: then it is an old state, and applying it would take it
// from its controller. Otherwise it is kept, unless it is null, or empty in a built-in
// kind, whose status the server ignores: Go programs write "status: {}" and
// "creationTimestamp: null" where they mean nothing, and those are removed without a
// warning.
func withoutServerFields(fields map[string]any) string {
	metadata, _ := fields["metadata"].(map[string]any)
	var out []string
	for _, key := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "selfLink", "managedFields",
	} {
		if value, ok := metadata[key]; ok {
			delete(metadata, key)
			if !isEmpty(value) {
				out = append(out, "metadata."+key)
			}
		}
	}
	if annotations, _ := metadata["annotations"].(map[string]any); annotations[lastApplied] != nil {
		delete(annotations, lastApplied)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		out = append(out, "the last-applied annotation")
	}
	if status, ok := fields["status"]; ok {
		switch {
		case len(out) > 0 && !isEmpty(status):
			out = append(out, "status")
			delete(fields, "status")
		case len(out) > 0, status == nil, isEmpty(status) && isBuiltIn(fields):
			delete(fields, "status")
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "copied from a cluster: left out " + strings.Join(out, ", ")
}

// isBuiltIn reports whether an object is of one of Kubernetes' own kinds.
func isBuiltIn(fields map[string]any) bool {
	version, _ := fields["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(version)
	return err == nil && object.IsBuiltIn(gv.Group)
}

// isEmpty reports whether a value is null or empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

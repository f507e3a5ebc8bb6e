package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func (r *reader) check(fields map[string]any, path []any) {
	r.subject = subject(fields)
	apiVersion := r.text(fields, path, "apiVersion")
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		r.fault(under(path, "apiVersion"), fmt.Sprintf(".apiVersion %q is not GROUP/VERSION", apiVersion), "")
	}
	r.text(fields, path, "kind")
	path = under(path, "metadata")
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		r.notText(path, fields["metadata"], "a mapping")
		return
	}
	switch unnamed := metadata["name"] == nil && metadata["generateName"] != nil; {
	case unnamed && r.unnamed:
		r.segment(metadata, path, "generateName")
	case unnamed:
		r.fault(under(path, "generateName"), "generateName without a name: apply needs a name to identify the object",
			"set metadata.name, or create a new object each time with kubectl create")
	default:
		r.segment(metadata, path, "name")
	}
	if metadata["namespace"] != nil && metadata["namespace"] != "" {
		r.segment(metadata, path, "namespace")
	}
	r.texts(metadata, path, "labels")
	r.texts(metadata, path, "annotations")
}

func subject(fields map[string]any) string {
	kind, _ := fields["kind"].(string)
	metadata, _ := fields["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if kind == "" || name == "" {
		return kind
	}
	apiVersion, _ := fields["apiVersion"].(string)
	namespace, _ := metadata["namespace"].(string)
	return object.Ref{GVK: schema.FromAPIVersionAndKind(apiVersion, kind), Namespace: namespace, Name: name}.String()
}

func (r *reader) text(fields map[string]any, path []any, key string) string {
	text, ok := fields[key].(string)
	if !ok || text == "" {
		r.notText(under(path, key), fields[key], "text")
	}
	return text
}

// segment checks a string that becomes a segment of a URL path. A slash or ".." would address
// another resource.
func (r *reader) segment(fields map[string]any, path []any, key string) {
	text := r.text(fields, path, key)
	for _, problem := range content.IsPathSegmentName(text) {
		r.fault(under(path, key), fmt.Sprintf("%s %q %s", yamldoc.PathText(under(path, key)), text, problem), "")
	}
}

// texts checks that a field is a mapping of text to text. Like the API server, it accepts null for
// the field and for each value.
func (r *reader) texts(fields map[string]any, path []any, key string) {
	path = under(path, key)
	values, ok := fields[key].(map[string]any)
	if !ok && fields[key] != nil {
		r.notText(path, fields[key], "a mapping")
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if _, ok := values[k].(string); !ok && values[k] != nil {
			r.notText(under(path, k), values[k], "text")
		}
	}
}

func (r *reader) notText(path []any, value any, want string) {
	name := yamldoc.PathText(path)
	switch value.(type) {
	case nil:
		r.fault(path, name+" is missing", "")
	case string:
		if want == "text" {
			r.fault(path, name+" is empty", "")
			return
		}
		r.fault(path, name+" is text, not "+want, "")
	case bool:
		hint := "quote it"
		if written := r.Written(path); written != "" && !strings.EqualFold(written, fmt.Sprint(value)) {
			hint = fmt.Sprintf("quote it: unquoted, %s is %v in YAML 1.1", written, value)
		}
		r.fault(path, name+" is "+typeName(value)+", not "+want, hint)
	case int64, float64:
		r.fault(path, name+" is "+typeName(value)+", not "+want, "quote it")
	default:
		r.fault(path, name+" is "+typeName(value)+", not "+want, "")
	}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// withoutServerFields removes fields that only a server sets. Such fields show that the object was
// copied from a cluster. It returns a warning that names them, or "".
//
// In a server-side apply, the API server (1.36) refuses managedFields, even if it is empty
// (KEP-555), a different uid or resourceVersion, deletionTimestamp and deletionGracePeriodSeconds.
// It ignores creationTimestamp, generation and selfLink. It stores the last-applied annotation,
// which misleads the next client-side apply and may reveal former values of a Secret.
//
// uid and resourceVersion could also be preconditions. But in a file that is applied again, a
// precondition would hold at most once.
//
// The server ignores status if it is a subresource. Otherwise the applier owns it like any other
// field. The status of a copy is an old state, so it is removed. A status is removed without a
// warning if it is null, or if it is empty in a built-in kind, because Go programs write "status:
// {}" and "creationTimestamp: null".
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
		version, _ := fields["apiVersion"].(string)
		switch {
		case len(out) > 0 && !isEmpty(status):
			out = append(out, "status")
			delete(fields, "status")
		case len(out) > 0, status == nil, isEmpty(status) && object.IsBuiltIn(schema.FromAPIVersionAndKind(version, "").Group):
			delete(fields, "status")
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "copied from a cluster; left out: " + strings.Join(out, ", ")
}

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

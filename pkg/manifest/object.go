package manifest

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type outcome struct {
	source      object.Source
	foreign     string
	holdsObject bool
	objects     []found
	faults      []error
}

func (o *outcome) noObject(hint string) error {
	return yamldoc.At(o.source, "not a Kubernetes object but "+o.foreign, hint)
}

func outcomeOf(d *yamldoc.Document, how *reading) outcome {
	o := outcome{source: d.Source()}
	value, faults := d.Decode()
	switch {
	case len(faults) > 0 && isTemplate(d, faults):
		o.foreign = "a template ({{ … }})"
	case len(faults) > 0 && d.Text[0] == '<':
		o.foreign = "HTML or XML"
	case len(faults) > 0:
		o.holdsObject, o.faults = true, faults
	case value == nil:
	default:
		if o.foreign = foreign(value, o.source.File); o.foreign == "" {
			o.holdsObject = true
			r := reader{Document: d, reading: how}
			r.read(value.(map[string]any), nil, group{})
			o.objects, o.faults = r.found, r.faults
		}
	}
	return o
}

// isTemplate reports whether a text is probably a template that is invalid because of its braces.
// Braces count only near a fault or at the start of the text, because valid texts may contain them
// elsewhere; alerting rules are full of them.
func isTemplate(d *yamldoc.Document, faults []error) bool {
	braces := []byte("{{")
	if bytes.HasPrefix(d.Text, braces) {
		return true
	}
	lines := bytes.Split(d.Text, []byte("\n"))
	for _, f := range faults {
		var fault *object.FaultError
		if !errors.As(f, &fault) {
			continue
		}
		// YAML recognizes more line breaks than "\n", so the fault may be beyond the last line.
		here := max(0, min(fault.Source.Line-d.Line, len(lines)-1))
		if bytes.Contains(lines[here], braces) || here > 0 && bytes.Contains(lines[here-1], braces) {
			return true
		}
	}
	return false
}

// foreign returns a description of a value that is not an object, or "" for an object. If only one
// of apiVersion, kind and metadata is missing, the author probably forgot it, so the value counts
// as an object. A kustomization without an apiVersion is recognized only by its file name.
func foreign(value any, file string) string {
	fields, ok := value.(map[string]any)
	if !ok {
		return typeName(value)
	}
	if gv, _ := fields["apiVersion"].(string); strings.HasPrefix(gv, "kustomize.config.k8s.io/") {
		return kustomizationFile
	}
	var missing []string
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		if _, ok := fields[key]; !ok {
			missing = append(missing, key)
		}
	}
	kind, _ := fields["kind"].(string)
	switch {
	case len(missing) == 1 && missing[0] == "metadata" && isConfiguration(fields):
		return "a configuration file (" + kind + " of " + fields["apiVersion"].(string) + ")"
	case len(missing) < 2:
		return ""
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file)):
		return kustomizationFile
	default:
		return "a document without " + strings.Join(missing, ", ")
	}
}

// isConfiguration reports whether a document configures a Kubernetes component or a tool that
// creates clusters. No API server serves these groups. See KEP-115 (component configuration),
// https://kind.sigs.k8s.io/docs/user/configuration/,
// https://kubernetes.io/docs/reference/config-api/.
func isConfiguration(fields map[string]any) bool {
	apiVersion, _ := fields["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group {
	case "kind.x-k8s.io", "kubeadm.k8s.io", "k3d.io", "audit.k8s.io", "eksctl.io":
		return true
	}
	return strings.HasSuffix(group, ".config.k8s.io")
}

// ConfigFile is the name of this program's own config file.
const ConfigFile = "k8sconnect.yaml"

const kustomizationFile = "a kustomization, which -k reads"

// group holds the API version and kind that the items of a typed list inherit.
type group struct{ apiVersion, kind string }

// read reads an object or a list, including nested lists. The path is the location of the fields in
// the document.
func (r *reader) read(fields map[string]any, path []any, parent group) {
	if _, ok := fields["apiVersion"]; !ok && parent.apiVersion != "" {
		fields["apiVersion"] = parent.apiVersion
	}
	if _, ok := fields["kind"]; !ok && parent.kind != "" {
		fields["kind"] = parent.kind
	}
	if !isList(fields) {
		r.object(fields, path)
		return
	}
	kind, _ := fields["kind"].(string)
	items, ok := fields["items"].([]any)
	if value := fields["items"]; !ok && value != nil {
		r.subject = ""
		r.fault(under(path, "items"), ".items of a "+kind+" is "+typeName(value)+", not a list", "")
		return
	}
	of := group{kind: strings.TrimSuffix(kind, "List")}
	if of.kind != "" {
		of.apiVersion, _ = fields["apiVersion"].(string)
	}
	for i, item := range items {
		here := under(path, "items", i)
		m, ok := item.(map[string]any)
		if !ok {
			r.subject = ""
			r.fault(here, "an item of a list is "+typeName(item)+", not an object", "")
			continue
		}
		r.read(m, here, of)
	}
}

// A list has items but no name. A custom object whose kind ends in List would have a name.
func isList(fields map[string]any) bool {
	kind, _ := fields["kind"].(string)
	_, has := fields["items"]
	metadata, _ := fields["metadata"].(map[string]any)
	return has && strings.HasSuffix(kind, "List") && metadata["name"] == nil && metadata["generateName"] == nil
}

func (r *reader) object(fields map[string]any, path []any) {
	before := len(r.faults)
	r.secrets.Learn(fields) // Learn must come before fields are removed.
	r.check(fields, path)
	if len(r.faults) > before {
		return
	}
	source := r.Source()
	if len(path) > 0 {
		source = r.SourceOf(path)
	}
	one := found{Manifest: object.Manifest{Object: &unstructured.Unstructured{Object: fields}, Source: source}}
	if !r.asIs {
		uid, stored := one.Object.GetUID(), isStored(one.Object)
		if one.warning = withoutServerFields(fields); stored {
			one.Origin = r.unbind(fields, path, uid)
		}
	}
	one.unmatched = !r.selector.Empty() && !r.selector.Matches(labelsOf(one.Object))
	if hook, isHook := hookOf(one.Manifest); isHook {
		one.hook = &hook
	}
	r.found = append(r.found, one)
}

package predict

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// alone returns the server's response to a dry run that submits the manifest as a new object, under
// another name and without the given paths. Even if the server accepts it, the manifest may still
// be invalid in combination with fields of other owners.
func (p Predictor) alone(ctx context.Context, server Server, in *Prediction, without ...fieldpath.Path) (*unstructured.Unstructured, error) {
	twin := in.Body.DeepCopy()
	twin.SetName(ProbeName(twin.GetName()))
	for _, path := range without {
		fieldpath.Delete(twin.Object, path)
	}
	return server.Apply(ctx, in.Item.Kind, twin, p.probe())
}

// Created returns the manifest as the server creates it, from a dry run under another name.
func (p Predictor) Created(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	return p.alone(ctx, server, in, freedWith(in.Live, in.Body)...)
}

func (p Predictor) createDryRun(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	freed := freedWith(in.Live, in.Body)
	answer, err := p.alone(ctx, server, in, freed...)
	if err == nil {
		err = addressInUse(ctx, server, in)
	}
	if err != nil {
		return nil, err
	}
	for _, path := range freed {
		declared, _ := path.Get(in.Body.Object)
		fieldpath.Put(answer.Object, path, declared)
	}
	return answer, nil
}

// freedWith returns the paths of the ports that the manifest requests and the live Service already
// holds. As long as the Service exists, the server refuses these ports to every other object, even
// in a dry run.
func freedWith(live, body *unstructured.Unstructured) []fieldpath.Path {
	if live == nil || live.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return nil
	}
	var out []fieldpath.Path
	health := fieldpath.Field("spec", "healthCheckNodePort")
	if _, is := health.Get(body.Object); is && health.Same(body.Object, live.Object) {
		out = append(out, health)
	}
	var had []any
	existing, _, _ := unstructured.NestedSlice(live.Object, "spec", "ports")
	for _, port := range existing {
		if m, ok := port.(map[string]any); ok && m["nodePort"] != nil {
			had = append(had, m["nodePort"])
		}
	}
	ports, _, _ := unstructured.NestedSlice(body.Object, "spec", "ports")
	for i := range ports {
		at := append(fieldpath.Field("spec", "ports"), fieldpath.Element{Index: &i}, fieldpath.FieldElement("nodePort"))
		declared, is := at.Get(body.Object)
		if is && slices.ContainsFunc(had, func(port any) bool { return fieldpath.Equal(port, declared) }) {
			out = append(out, at)
		}
	}
	return out
}

// addressInUse returns an error if another Service holds an address that this Service requests,
// which a dry run does not detect. The check requires Kubernetes 1.33 and permission to read
// IPAddresses; without them, addressInUse returns nil.
func addressInUse(ctx context.Context, server Server, in *Prediction) error {
	if in.Live == nil || in.Live.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return nil
	}
	declared, _, _ := unstructured.NestedStringSlice(in.Body.Object, "spec", "clusterIPs")
	if one, _, _ := unstructured.NestedString(in.Body.Object, "spec", "clusterIP"); !slices.Contains(declared, one) {
		declared = append(declared, one)
	}
	had, _, _ := unstructured.NestedStringSlice(in.Live.Object, "spec", "clusterIPs")
	gvk := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}
	for _, address := range declared {
		if address == "" || address == "None" || slices.Contains(had, address) {
			continue
		}
		found, err := server.Get(ctx, object.Kind{GVK: gvk, Resource: "ipaddresses"}, object.Ref{GVK: gvk, Name: address})
		if err != nil {
			continue
		}
		name, _, _ := unstructured.NestedString(found.Object, "spec", "parentRef", "name")
		namespace, _, _ := unstructured.NestedString(found.Object, "spec", "parentRef", "namespace")
		return fmt.Errorf("%s is already allocated to service/%s -n %s", address, name, namespace)
	}
	return nil
}

// ProbeName returns the name under which a dry run asks whether the server would accept an object of that name
// anew, while it still exists. The account needs the rights to create and patch an object of this name. It is
// no longer than a DNS label, because some kinds limit names to that length.
func ProbeName(name string) string {
	const suffix = "-k8sconnect-probe"
	if most := validation.DNS1123LabelMaxLength - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + suffix
}

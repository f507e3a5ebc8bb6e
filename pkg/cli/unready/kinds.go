package unready

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// kindsOf returns the kinds to read: those of the types or, without types, all kinds whose objects can
// be not ready.
func (s *search) kindsOf(ctx context.Context, server *client.Client, types []string, emit func(event.Event)) ([]object.Kind, error) {
	served, err := s.server.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	if len(types) == 0 {
		return slices.DeleteFunc(served, func(kind object.Kind) bool {
			return !kind.Namespaced && s.namespace != "" || !canBeUnready(kind)
		}), nil
	}
	var kinds []object.Kind
	var faults []error
	for _, typ := range types {
		found, err := server.Resources(ctx, typ)
		faults = append(faults, err)
		for _, kind := range found {
			switch {
			case !canBeUnready(kind):
				emit(event.Warned{Text: kind.GVK.Kind + " is not read: its objects are ready once they exist"})
			case !slices.ContainsFunc(kinds, func(k object.Kind) bool { return k.GVK == kind.GVK }):
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds, errors.Join(faults...)
}

// canBeUnready reports whether objects of the kind can exist without being ready.
func canBeUnready(kind object.Kind) bool {
	gk := kind.GVK.GroupKind()
	_, own := readiness.About(gk)
	switch {
	case own, gk == ingresses().GroupKind():
		return true
	case object.IsBuiltIn(gk.Group):
		var types local.Types
		of := types.Of(kind)
		if of == nil || of.Property("status") == nil {
			return false
		}
		return of.Property("status").Property("conditions") != nil
	}
	// Kinds without these verbs are computed by a server, for example the metrics of Pods.
	return slices.ContainsFunc([]string{"create", "update", "patch"}, func(verb string) bool { return slices.Contains(kind.Verbs, verb) })
}

// definition is the part of a CRD that decides how its objects are judged.
type definition struct {
	hasStatus map[string]bool // by version
}

// readDefinitions reads the CRDs, if a kind needs one. If it fails, the server's schemas are read
// instead.
func (s *search) readDefinitions(ctx context.Context, kinds []object.Kind) {
	gvk := definitions()
	if !slices.ContainsFunc(kinds, func(kind object.Kind) bool { return readiness.NeedsSchema(kind.GVK) }) {
		return
	}
	s.definitions = map[schema.GroupKind]definition{}
	visit := func(u *unstructured.Unstructured) {
		d := definition{hasStatus: map[string]bool{}}
		for _, version := range diagnose.Items(u, "spec", "versions") {
			name, _ := version["name"].(string)
			_, sub, _ := unstructured.NestedFieldNoCopy(version, "subresources", "status")
			_, declared, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties", "status")
			_, open, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields")
			d.hasStatus[name] = sub || declared || open
		}
		gk := schema.GroupKind{Group: diagnose.Text(u, "spec", "group"), Kind: diagnose.Text(u, "spec", "names", "kind")}
		s.definitions[gk] = d
		s.rules.Learn(gk, u.GetName(), u.GetAnnotations())
	}
	judged := slices.IndexFunc(kinds, func(kind object.Kind) bool { return kind.GVK == gvk })
	if judged >= 0 && s.labels == "" {
		s.readKind(ctx, kinds[judged], visit)
		return
	}
	if err := s.server.SelectLarge(ctx, gvk, object.Selection{}, "", visit); err != nil {
		s.definitions = nil
	}
}

// conditionOf returns the condition under which objects of a kind are ready.
func (s *search) conditionOf(ctx context.Context, kind object.Kind) (*condition.Condition, error) {
	var one *spec.Schema
	if readiness.NeedsSchema(kind.GVK) {
		d, known := s.definitions[kind.GVK.GroupKind()]
		_, ruled := s.rules.Of(kind.GVK.GroupKind())
		switch {
		case !known:
			var err error
			if one, err = s.schemas.Schema(ctx, kind); err != nil {
				return nil, err
			}
		case !ruled && !d.hasStatus[kind.GVK.Version]:
			one = &spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"metadata": {}}}}
		}
	}
	compiled, err := condition.Compile(kind.GVK, one, []condition.Spec{{Kind: condition.Ready, Text: string(condition.Ready), Rules: s.rules, Once: true}})
	if err != nil {
		return nil, err
	}
	return compiled[0], nil
}

// level orders the kinds: the objects of a controller are read after it, so that by then it is known
// of which namespaces all objects are needed.
func level(kind object.Kind) int {
	switch kind.GVK.GroupKind().String() {
	case "Pod":
		return 2
	case "ReplicaSet.apps", "Job.batch", "ReplicationController":
		return 1
	}
	return 0
}

// isWhole reports whether all objects of a kind are kept, since many rules ask for them.
func isWhole(kind object.Kind) bool {
	return slices.Contains([]string{
		"Node", "Namespace", "Service", "PersistentVolume", "PersistentVolumeClaim", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Ingress.networking.k8s.io",
	}, kind.GVK.GroupKind().String())
}

// runsOnce reports whether the objects of a kind do work that ends. They are not ready before, which
// is no fault.
func runsOnce(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk.Group == "tekton.dev"
}

func pods() schema.GroupVersionKind { return diagnose.KindOf("v1", "Pod") }

func definitions() schema.GroupVersionKind {
	return diagnose.KindOf("apiextensions.k8s.io/v1", "CustomResourceDefinition")
}

func ingresses() schema.GroupVersionKind { return diagnose.KindOf("networking.k8s.io/v1", "Ingress") }

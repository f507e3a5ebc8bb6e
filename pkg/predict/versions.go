package predict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// goneVersion explains an internal error of the server that is due to managed fields at a version
// that the CRD has dropped: the server cannot convert the object to compare it (k/k#87691). It
// returns nil for other errors, and if the server cannot look up kinds. The server gives no reason,
// so goneVersion looks up the versions.
func (p Predictor) goneVersion(ctx context.Context, server Server, in *Prediction, err error) error {
	kinds, able := server.(interface {
		Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	})
	var status apierrors.APIStatus
	if in.Live == nil || !able || object.IsBuiltIn(in.Item.GVK.Group) || !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError {
		return nil
	}
	entries, entriesErr := managedfields.Entries(in.Live)
	if entriesErr != nil {
		return nil
	}
	var managers, versions []string
	for _, e := range entries {
		gv, parseErr := schema.ParseGroupVersion(e.APIVersion)
		if parseErr != nil || gv == in.Item.GVK.GroupVersion() || gv.Group != in.Item.GVK.Group {
			continue
		}
		if _, kindErr := kinds.Kind(ctx, gv.WithKind(in.Item.GVK.Kind)); meta.IsNoMatchError(kindErr) {
			managers, versions = append(managers, e.Manager), append(versions, e.APIVersion)
		}
	}
	if len(managers) == 0 {
		return nil
	}
	slices.Sort(managers)
	slices.Sort(versions)
	on := text.ShellQuote(in.Item.Kind.GVR().GroupResource().String())
	if ns := in.Item.Namespace; ns != "" {
		on += " -n " + text.ShellQuote(ns)
	}
	return object.Hinted("move these owners to a served version: "+command.Kubectl("k8sconnect", "owners")+" "+on+" --migrate-versions",
		"managedFields contain fields of %s at %s, which is no longer served, so the API server cannot apply the object: %w",
		strings.Join(slices.Compact(managers), ", "), strings.Join(slices.Compact(versions), ", "), err)
}

// droppedVersion advises on the refusal of a CRD that drops a version at which objects may still be
// stored.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version
func droppedVersion(in *Prediction, err error) string {
	isDefinition := in.Item.GVK.GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	if in.Live == nil || !isDefinition || !slices.ContainsFunc(Causes(err), func(c metav1.StatusCause) bool {
		return strings.HasPrefix(c.Field, "status.storedVersions")
	}) {
		return ""
	}
	stored, _, _ := unstructured.NestedStringSlice(in.Live.Object, "status", "storedVersions")
	versions, _, _ := unstructured.NestedSlice(in.Body.Object, "spec", "versions")
	var remain []string
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); slices.Contains(stored, name) || version["storage"] == true {
			remain = append(remain, name)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": remain}})
	if err != nil {
		return ""
	}
	name := text.ShellQuote(in.Item.Name)
	return fmt.Sprintf("rewrite the objects: %s %s -A -o json | %s -f -; then: %s crd %s --subresource=status --type=merge -p %s; "+
		"then apply this again; then move the owners: %s %s -A --migrate-versions",
		command.Kubectl("get"), name, command.Kubectl("replace"), command.Kubectl("patch"), name, text.ShellQuote(string(patch)),
		command.Kubectl("k8sconnect", "owners"), name)
}

// lacksApply explains the answer of an API that does not support server-side apply; nil for other
// answers. A create is never refused because the object does not exist, so an API that answers that
// does not support it either.
func lacksApply(in *Prediction, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	details := status.Status().Details
	absent := in.Live == nil && apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		(details == nil || details.Kind == "" || details.Kind == in.Item.Kind.Resource)
	if !absent && !object.LacksServerSideApply(status.Status()) {
		return nil
	}
	verb := "create"
	if in.Live != nil {
		verb = "replace"
	}
	return object.Hinted("use "+command.Kubectl(verb)+" -f "+text.ShellQuote(in.Item.Source.File),
		"the API of %s does not support server-side apply: %w", in.Item.Kind.GVR().GroupResource(), err)
}

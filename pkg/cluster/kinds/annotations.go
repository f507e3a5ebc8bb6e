package kinds

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// DefinitionAnnotations returns the annotations of the definition of a kind, and the
// definition's name. There are none if the kind has no definition, or if it may not be
// read. It requests the metadata alone, because a definition may have a megabyte.
func (d *Discovery) DefinitionAnnotations(ctx context.Context, kind object.Kind) (name string, annotations map[string]string, err error) {
	crd := definitionKind()
	name = kind.GVR().GroupResource().String()
	var definition metav1.PartialObjectMetadata
	err = d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: crd.GVK, Name: name}, Quiet: true}, func(ctx context.Context) error {
		body, err := request.Read(ctx, d.rest.Get().AbsPath(append(request.ResourcePath(crd, ""), name)...).
			SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"))
		if err != nil {
			return err
		}
		definition = metav1.PartialObjectMetadata{}
		if json.Unmarshal(body, &definition) != nil || definition.Name != name {
			return answer.Garbled(body)
		}
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return name, nil, nil
	}
	return name, definition.Annotations, err
}

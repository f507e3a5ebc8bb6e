package cluster

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Names returns the names of what is selected, in the server's order; nothing else
// of the objects is read.
func (c *Client) Names(ctx context.Context, kind object.Kind, sel object.Selection) ([]string, error) {
	const metadataAlone = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	w := &watching{client: c, kind: kind, sel: sel, tell: func(object.Change) {}}
	var list metav1.PartialObjectMetadataList
	err := w.do(ctx, func(ctx context.Context) error {
		body, err := read(ctx, w.collection().SetHeader("Accept", metadataAlone))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &list)
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		names[i] = item.Name
	}
	return names, nil
}

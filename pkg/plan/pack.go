package plan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// large is from how many objects on it costs less to read each manifest once more than to
// have the collector look through all of them again and again.
const large = 5_000

// Pack keeps the manifests of a large plan as text until [Item.Whole] is called: a quarter
// of the memory, in one piece. From then on Object is nil.
func (p *Plan) Pack() error {
	objects := 0
	for _, ph := range p.Phases {
		objects += len(ph.Items)
	}
	if objects < large {
		return nil
	}
	for _, ph := range p.Phases {
		for i := range ph.Items {
			item := &ph.Items[i]
			if item.Object == nil {
				continue
			}
			text, err := json.Marshal(item.Object.Object)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
			}
			item.packed, item.Object = text, nil
		}
	}
	return nil
}

// Whole returns the item with its manifest, whether it is packed or not.
func (it Item) Whole() (Item, error) {
	if it.Object != nil || it.packed == nil {
		return it, nil
	}
	u := &unstructured.Unstructured{}
	if err := k8sjson.Unmarshal(it.packed, &u.Object); err != nil {
		return it, fmt.Errorf("%s: %s: %w", it.Source, it.Ref, err)
	}
	it.Object, it.packed = u, nil
	return it, nil
}

// Forget takes the manifest out of the item.
func (it *Item) Forget() { it.Object, it.packed = nil, nil }

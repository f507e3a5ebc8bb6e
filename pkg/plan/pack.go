package plan

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
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
			packed, err := object.Pack(item.Object)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
			}
			item.packed, item.Object = packed, nil
		}
	}
	return nil
}

// Unpack makes every item whole, for callers that look at the manifests.
func (p *Plan) Unpack() error {
	for _, ph := range p.Phases {
		for i := range ph.Items {
			whole, err := ph.Items[i].Whole()
			if err != nil {
				return err
			}
			ph.Items[i] = whole
		}
	}
	return nil
}

// Whole returns the item with its manifest, whether it is packed or not.
func (it Item) Whole() (Item, error) {
	if it.Object != nil || it.packed == "" {
		return it, nil
	}
	u, err := it.packed.Unpack()
	if err != nil {
		return it, fmt.Errorf("%s: %s: %w", it.Source, it.Ref, err)
	}
	it.Object, it.packed = inNamespace(u, it.Namespace), "" // It may have been packed before its scope was settled.
	return it, nil
}

// MayMention reports whether the manifest may have these words, which are plain ASCII, as a
// key or a text. It knows nothing of an item that is not packed.
func (it Item) MayMention(words string) bool { return it.Object != nil || it.packed.Mentions(words) }

// Forget takes the manifest out of the item.
func (it *Item) Forget() { it.Object, it.packed = nil, "" }

// Forget takes the manifests out of the plan, for callers that need names and kinds alone.
func (p *Plan) Forget() {
	for _, ph := range p.Phases {
		for i := range ph.Items {
			ph.Items[i].Forget()
		}
	}
}

// fields returns what the manifest says; nil of what was forgotten.
func (it Item) fields() map[string]any {
	whole, err := it.Whole()
	if err != nil || whole.Object == nil {
		return nil
	}
	return whole.Object.Object
}

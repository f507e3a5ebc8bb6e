package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
)

// left returns the paths that the item states and that something in the cluster, which is
// meant to set them, has set to another value. They are not contested, unless the user
// takes one by name.
func (p Predictor) left(item plan.Item, live *unstructured.Unstructured, yielded []fieldpath.Path, adopted []managedfields.Owner) ([]managedfields.Conflict, error) {
	rows := MeantForOthers(item.GVK.GroupKind(), item.Object)
	if len(rows) == 0 || live == nil {
		return nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	others := managedfields.Others(entries, p.Manager)
	var out []managedfields.Conflict
	near := func(path fieldpath.Path) bool {
		return slices.ContainsFunc(rows, func(m Meant) bool { return m.IsWithin(path) })
	}
	for _, path := range fieldpath.StatedPathsWithin(item.Object.Object, near) {
		i := slices.IndexFunc(rows, func(m Meant) bool { return m.Is(path) })
		if i < 0 || path.Same(item.Object.Object, live.Object) || slices.ContainsFunc(yielded, path.HasPrefix) {
			continue
		}
		owners, err := managedfields.Owners(others, path)
		if err != nil {
			return nil, err
		}
		if p.setsByName(item, path, owners) {
			continue
		}
		if !rows[i].SetBy(owners) || slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return slices.Contains(adopted, o) }) {
			continue
		}
		c := managedfields.Conflict{Path: path, Owners: owners}
		c.Yours, _ = path.Get(item.Object.Object)
		c.Live, c.HasLive = path.Get(live.Object)
		p.report(item, path, Left, said{})
		out = append(out, c)
	}
	return out, nil
}

// setsByName reports whether the user takes this very path of what others are meant to set.
func (p Predictor) setsByName(item plan.Item, path fieldpath.Path, owners []managedfields.Owner) bool {
	_, now := p.takerByName(p.Take, item, path, owners)
	_, always := p.takerByName(p.Standing.Take, item, path, owners)
	return now || always
}

// leave returns the manifest without what other components are meant to set.
func (p Predictor) leave(manifest *unstructured.Unstructured, in *Prediction) (*unstructured.Unstructured, error) {
	if len(in.Left) == 0 {
		return manifest, nil
	}
	paths := make([]fieldpath.Path, len(in.Left))
	for i, c := range in.Left {
		paths[i] = c.Path
	}
	without, _, err := yield.Paths(manifest, in.Live, p.Manager, paths, p.schemaOf(in.Item))
	return without, err
}

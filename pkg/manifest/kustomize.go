package manifest

import (
	"context"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomization builds a folder (or a URL, for which kustomize calls git) with
// the options of kubectl's -k. Its output passes through the same decoding as
// any file, so that values are kubectl's, but its lines are nobody's.
func kustomization(path string) input {
	build := func() ([]byte, error) {
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionLegacy
		objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), path)
		if err != nil {
			return nil, &inputError{where: path, text: oneLine(err.Error())}
		}
		text, err := objects.AsYaml()
		if err != nil {
			return nil, &inputError{where: path, text: oneLine(err.Error())}
		}
		return text, nil
	}
	return input{name: path, generated: true, open: func(ctx context.Context) ([]byte, error) {
		return await(ctx, build)
	}}
}

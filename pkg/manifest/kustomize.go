package manifest

import (
	"context"

	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// kustomization builds a folder (or a URL, for which kustomize calls git) with
// the options of kubectl's -k. Its output passes through the same decoding as
// any file, so that values are kubectl's, but its lines are nobody's.
//
// What kustomize says of a failure may quote all that it read: the values of Secrets are
// masked in it.
func kustomization(o Options) input {
	path := o.Kustomize
	build := func(context.Context, *heard) ([]byte, error) {
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionLegacy
		files := newRecorder()
		objects, err := krusty.MakeKustomizer(options).Run(files, path)
		if err != nil {
			return nil, files.fault(path, err, o.Secrets)
		}
		text, err := objects.AsYaml()
		if err != nil {
			return nil, files.fault(path, err, o.Secrets)
		}
		return text, nil
	}
	name := withoutUsers(path)
	p := patience{name: name, what: "the kustomization " + name, most: longestSilence, tell: o.Tell}
	return input{name: name, generated: true, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, build)
	}}
}

// fault says why a kustomization cannot be built. Values are looked for before lines are
// joined, and after: they may have several. What it was called with may have a password, and
// so may the URLs of its resources.
func (r *recorder) fault(path string, err error, secrets Secrets) error {
	r.learn(secrets)
	said := secrets.Text(text.OneLine(secrets.Text(err.Error())))
	return &inputError{where: withoutUsers(path), text: withoutUsers(said)}
}

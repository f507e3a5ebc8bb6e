package manifest

import (
	"context"

	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// kustomization builds a folder (or a URL, for which kustomize calls git) with the options
// of kubectl's -k. Its output is decoded like any file, so values are what kubectl makes of
// them, but its line numbers refer to no file.
//
// An error of kustomize may quote all that it read: mask the values of Secrets in it.
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
	name := publicURLs(path)
	p := patience{name: name, what: "the kustomization " + name, most: longestSilence, tell: o.Tell}
	return input{name: name, generated: true, open: func(ctx context.Context) ([]byte, error) {
		return p.await(ctx, build)
	}}
}

// fault explains why a kustomization cannot be built. Values are masked before lines are
// joined and again after, because a value may span several lines. URLs, of the argument and of
// resources, may hold a password or a token.
func (r *recorder) fault(path string, err error, secrets Secrets) error {
	r.learn(secrets)
	said := secrets.Text(text.OneLine(secrets.Text(err.Error())))
	hint := ""
	if r.has("helmCharts") {
		hint = "to inflate charts: " + command.Kubectl("kustomize", "--enable-helm", "DIR") + " | " + command.Kubectl("k8sconnect", "apply", "-f", "-")
	}
	return &inputError{where: publicURLs(path), text: publicURLs(said), hint: hint}
}

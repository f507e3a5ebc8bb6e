// Command would predicts an apply of a manifest to a live object, without a server.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: would MANAGER LIVE MANIFEST")
		os.Exit(2)
	}
	if err := would(os.Args[1], os.Args[2], os.Args[3], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "would:", err)
		os.Exit(1)
	}
}

func would(manager, liveFile, manifestFile string, out io.Writer) error {
	live, err := read(liveFile)
	if err != nil {
		return err
	}
	manifest, err := read(manifestFile)
	if err != nil {
		return err
	}
	predictor := predict.Predictor{Manager: manager}
	prediction, err := predictor.Evaluate(plan.Item{Ref: object.RefOf(manifest), Object: manifest}, live)
	if err != nil {
		return err
	}
	switch prediction.Verdict {
	case noop.Unchanged:
		fmt.Fprintln(out, "nothing would change")
	case noop.Clear:
		fmt.Fprintln(out, "it would change something, and contest nothing")
	case noop.Contested, noop.Doubtful:
		if prediction.Verdict == noop.Contested {
			fmt.Fprintln(out, "it would be refused for a conflict")
		} else {
			fmt.Fprintln(out, "ask the server by a dry run")
		}
		_, conflicts := noop.Evaluate(live, prediction.Body, manager)
		for _, c := range conflicts {
			fmt.Fprintf(out, "%s: ours %v, live %v, owned by %v\n", c.Path, c.Yours, c.Live, c.Owners)
		}
	}
	return nil
}

func read(file string) (*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, u); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return u, nil
}

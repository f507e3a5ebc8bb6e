// Command outdated lists the deprecations in manifests for a server's release.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: outdated RELEASE <manifests.yaml")
		os.Exit(2)
	}
	if err := outdated(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outdated:", err)
		os.Exit(1)
	}
}

func outdated(release string, in io.Reader, out io.Writer) error {
	server, err := deprecation.ParseRelease(release)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := decoder.Decode(u); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if notice, ok := deprecation.Check(u.GroupVersionKind(), server); ok {
			fmt.Fprintf(out, "%s %s: %s\n", u.GetKind(), u.GetName(), notice)
		}
		for _, notice := range deprecation.Fields(u, server) {
			fmt.Fprintf(out, "%s %s: %s\n", u.GetKind(), u.GetName(), notice)
		}
	}
}

// Command unready explains why an object in a dump is not ready. It needs no cluster.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: unready KIND NAMESPACE NAME <dump.yaml")
		os.Exit(2)
	}
	if err := explain(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unready:", err)
		os.Exit(1)
	}
}

func explain(ctx context.Context, kind, namespace, name string, in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	if err := yaml.Unmarshal(data, list); err != nil {
		return err
	}
	found := dump(list.Items)
	live := found.named(kind, namespace, name)
	if live == nil {
		return fmt.Errorf("the dump has no %s %s in %s", kind, name, namespace)
	}
	verdict := readiness.For(live.GroupVersionKind()).Evaluate(live.Object, time.Now())
	if verdict.Ready {
		fmt.Fprintln(out, "ready")
		return nil
	}
	fmt.Fprintf(out, "not ready, %s: %s\n", verdict.Reason, verdict.Message)
	facts, err := unready.Gather(ctx, found, live)
	if err != nil {
		return err
	}
	for _, cause := range unready.Diagnose(facts) {
		fmt.Fprintf(out, "%s: %s\n", cause.Code, cause.Message)
		if cause.Next != "" {
			// A dump has no cluster: without flags, kubectl uses the current one.
			fmt.Fprintln(out, "  next:", command.Fill(cause.Next, command.Flags{}))
		}
	}
	return nil
}

// Command whose reports who owns a field of the object on its standard input.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: whose PATH <object.yaml")
		os.Exit(2)
	}
	if err := whose(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "whose:", err)
		os.Exit(1)
	}
}

func whose(text string, in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, live); err != nil {
		return err
	}
	path, err := fieldpath.ParsePath(text)
	if err != nil {
		return err
	}
	path, ok := path.ByKey(live.Object) // containers[0] is containers[name="app"]
	if !ok {
		return fmt.Errorf("the object has no %s", text)
	}
	value, ok := path.Get(live.Object)
	if !ok {
		return fmt.Errorf("the object has no %s", path)
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is %v\n", path, value)
	owners, err := managedfields.Owners(entries, path)
	if err != nil {
		return err
	}
	if len(owners) == 0 {
		fmt.Fprintln(out, "no manager owns it")
	}
	for _, owner := range owners {
		fmt.Fprintln(out, "owned by", owner)
	}
	return nil
}

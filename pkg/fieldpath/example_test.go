package fieldpath_test

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// service is an object as a client decodes it. Its first port has no protocol, which the server
// sets to a default.
func service() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "dns"}},
		"spec": map[string]any{"ports": []any{
			map[string]any{"port": int64(53), "name": "dns-tcp"},
			map[string]any{"port": int64(53), "name": "dns-udp", "protocol": "UDP"},
		}},
	}
}

// Users type paths in many ways. Each path has a single text form.
func ExampleParsePath() {
	for _, typed := range []string{
		`spec.replicas`,
		`.metadata.labels['app.kubernetes.io/name']`,
		`.spec.containers[name=app].image`,
		`.spec.containers[0].image]`,
	} {
		path, err := fieldpath.ParsePath(typed)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(path)
	}
	// Output:
	// .spec.replicas
	// .metadata.labels["app.kubernetes.io/name"]
	// .spec.containers[name="app"].image
	// path ".spec.containers[0].image]", column 26: expected "." or "["
}

// A list item is found by its key, even if the server's defaults set a part of the key.
func ExamplePath_Get() {
	for _, text := range []string{
		`.spec.ports[port=53,protocol="UDP"].name`,
		`.spec.ports[port=53,protocol="TCP"].name`,
		`.spec.ports[port=80,protocol="TCP"].name`,
	} {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(path.Get(service()))
	}
	// Output:
	// dns-udp true
	// dns-tcp true
	// <nil> false
}

// Managed fields do not use positions, so a path with a position is converted to one with a key.
func ExamplePath_ByKey() {
	path, err := fieldpath.ParsePath(".spec.ports[1].name")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(path.ByKey(service()))
	// Output:
	// .spec.ports[port=53,protocol="UDP"].name true
}

func ExampleDelete() {
	object := service()
	path, err := fieldpath.ParsePath(`.spec.ports[port=53,protocol="UDP"]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fieldpath.Delete(object, path)
	fmt.Println(object["spec"])
	// Output:
	// map[ports:[map[name:dns-tcp port:53]]]
}

// [*] matches any item of a list or any key of a map.
func ExampleParsePattern() {
	object := map[string]any{"webhooks": []any{
		map[string]any{"name": "a.example.com", "clientConfig": map[string]any{"caBundle": "Cg=="}},
		map[string]any{"name": "b.example.com", "clientConfig": map[string]any{"url": "https://b.example.com"}},
	}}
	pattern, err := fieldpath.ParsePattern(".webhooks[*].clientConfig.caBundle")
	if err != nil {
		panic(err)
	}
	for _, path := range pattern.In(object) {
		fmt.Println(path)
	}
	// Output:
	// .webhooks[name="a.example.com"].clientConfig.caBundle
}

package ownership_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// A Lookup finds the same values as [fieldpath.Path.Get].
func TestLookup(t *testing.T) {
	var ports, set []any
	for i := range 40 {
		ports = append(ports, map[string]any{"port": int64(i % 30), "protocol": []any{"TCP", "UDP", nil}[i%3], "at": int64(i)})
		set = append(set, []any{int64(i), float64(i) / 2, fmt.Sprint(i), i%2 == 0, nil}[i%5])
	}
	delete(ports[7].(map[string]any), "protocol")
	ports[8] = "no map"
	object := map[string]any{"ports": ports, "set": set, "few": ports[:3]}
	lookup := ownership.NewLookup(object)
	var paths []string
	for i := range 45 {
		for _, list := range []string{"ports", "few"} {
			paths = append(paths, fmt.Sprintf(`.%s[port=%d,protocol="TCP"]`, list, i), fmt.Sprintf(`.%s[port=%d,protocol="UDP"].at`, list, i),
				fmt.Sprintf(`.%s[port=%d]`, list, i), fmt.Sprintf(`.%s[port=%d.0,protocol="TCP"].at`, list, i), fmt.Sprintf(`.%s[%d]`, list, i))
		}
		paths = append(paths, fmt.Sprintf(`.set[=%d]`, i), fmt.Sprintf(`.set[=%d.5]`, i), fmt.Sprintf(`.set[="%d"]`, i), `.set[=true]`, `.set[=null]`)
	}
	found := 0
	for _, text := range paths {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		want, has := path.Get(object)
		got, ok := lookup.Get(path)
		if ok != has || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, not %v, %v", text, got, ok, want, has)
		}
		if has {
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d of %d paths were found", found, len(paths))
	}
}

package discovery

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var things = schema.GroupVersion{Group: "x.y", Version: "v1"}

// saying returns the answer of a server whose only group has the given kinds.
func saying(kinds ...string) *served {
	return &served{
		groups: &metav1.APIGroupList{Groups: []metav1.APIGroup{{
			Name: "x.y", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "x.y/v1", Version: "v1"}},
		}}},
		lists: map[schema.GroupVersion]*metav1.APIResourceList{things: listOf(kinds...)}, whole: true,
	}
}

func listOf(kinds ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: "x.y/v1"}
	for _, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: kind + "s", Kind: kind})
	}
	return list
}

func holds(t *testing.T, c *Cache, kinds ...string) {
	t.Helper()
	list, err := c.list(things)
	if err != nil {
		t.Fatal(err)
	}
	if list == nil {
		list = listOf()
	}
	if lacks(list, listOf(kinds...)) || lacks(listOf(kinds...), list) {
		t.Errorf("the cache has %v, want %v", list.APIResources, kinds)
	}
}

// If two lists have new kinds, the cache keeps the list that has more. CRDs are served one after
// the other, and answers may arrive in another order than they were sent.
func TestCacheKeepsLargerList(t *testing.T) {
	c := &Cache{disk: store{t.TempDir()}}
	c.answer(saying())
	c.learn(things, listOf("a", "b"))
	c.learn(things, listOf("a"))
	holds(t, &Cache{disk: c.disk}, "a", "b")
	c.answer(saying("a"))
	holds(t, &Cache{disk: c.disk}, "a", "b")
	holds(t, c, "a") // This run goes by what the server says of everything.
	c.answer(saying("a", "b", "c"))
	holds(t, &Cache{disk: c.disk}, "a", "b", "c")
}

// A file that is too old, or not in kubectl's format, is ignored.
func TestInvalidCacheFiles(t *testing.T) {
	c := &Cache{disk: store{t.TempDir()}}
	c.answer(saying("a"))
	file := filepath.Join(c.disk.dir, "x.y", "v1", "serverresources.json")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "cut": string(good[:len(good)/2]), "another kind": `{"kind":"Status"}`, "no object": `[]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list := c.disk.list(things); list != nil {
			t.Errorf("%s: %v", name, list)
		}
	}
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, &Cache{disk: c.disk}, "a")
	if old := time.Now().Add(-cacheFor - time.Minute); os.Chtimes(file, old, old) != nil || c.disk.list(things) != nil {
		t.Error("a file that is too old for kubectl was used")
	}
	if left, err := filepath.Glob(filepath.Join(c.disk.dir, "x.y", "v1", "*")); err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}

package client

import (
	"fmt"
	"math"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spread returns wanted objects: as many per namespace as given, in so many namespaces.
func spread(namespaces, each int) wanted {
	w := wanted{}
	for n := range namespaces {
		names := map[string]int{}
		for i := range each {
			names[fmt.Sprint("w", i)] = n*each + i
		}
		w[fmt.Sprint("n", n)] = names
	}
	return w
}

// The decision depends on how many requests it takes to read the objects by namespace, and on how
// many objects, of which size, are left in the list.
func TestNextPage(t *testing.T) {
	const none = -1 // The server does not count the rest.
	small := listed{firstPage, firstPage * 1000}
	for name, tt := range map[string]struct {
		wanted wanted
		read   listed
		left   int64
		want   int
	}{
		"one namespace":                             {spread(1, 5000), listed{}, 0, 0},
		"few objects":                               {spread(96, 1), listed{}, 0, 0},
		"few lists of many":                         {spread(96, 50), listed{}, 0, 0},
		"an object in each of many namespaces":      {spread(97, 1), listed{}, 0, firstPage},
		"many objects in each of many namespaces":   {spread(97, 50), listed{}, 0, firstPage},
		"five objects are five requests":            {spread(20, 5), listed{}, 0, firstPage},
		"six objects are one request":               {spread(20, 6), listed{}, 0, 0},
		"all are wanted":                            {spread(300, 1), small, 200, 4194},
		"1 in 20 is wanted":                         {spread(300, 1), small, 6000, 4194},
		"fewer are wanted":                          {spread(300, 1), small, 6001, 0},
		"1 in 100 is wanted":                        {spread(300, 1), small, 30_000, 0},
		"the same list, read with one per object":   {spread(1500, 1), small, 30_000, 4194},
		"all of a namespace are one request":        {spread(300, 20), small, 6000, 4194},
		"the server does not count":                 {spread(300, 1), small, none, 0},
		"large objects, all wanted":                 {spread(300, 1), listed{firstPage, firstPage * 60_000}, 200, firstPage},
		"large objects, of which 1 in 4 is wanted":  {spread(300, 1), listed{firstPage, firstPage * 60_000}, 1200, 0},
		"Helm releases of a megabyte":               {spread(300, 1), listed{firstPage, firstPage << 20}, 300, 0},
		"tiny objects":                              {spread(30_000, 1), listed{firstPage, firstPage}, 100_000, pageLimit},
		"the server's count is absurd":              {spread(300, 1), small, math.MaxInt64, 0},
		"few are left, and the list is nearly read": {spread(3, 1), small, 50, 4194},
	} {
		t.Run(name, func(t *testing.T) {
			var page metav1.ListMeta
			if tt.left != none {
				page.RemainingItemCount = &tt.left
			}
			if got := nextPage(tt.wanted, tt.read, page); got != tt.want {
				t.Errorf("a page of %d, want %d", got, tt.want)
			}
		})
	}
}

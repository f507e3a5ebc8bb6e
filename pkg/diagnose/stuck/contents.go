package stuck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// contents is what an object holds and has to lose before it goes.
type contents struct {
	// going are terminating; present are not.
	going, present []*unstructured.Unstructured
	// sure is set if all of it could be listed.
	sure bool
}

func (c contents) total() int { return len(c.going) + len(c.present) }

func (c *contents) add(objects []*unstructured.Unstructured) {
	for _, u := range objects {
		if diagnose.Terminating(u) {
			c.going = append(c.going, u)
		} else {
			c.present = append(c.present, u)
		}
	}
}

// contents returns what is left in a namespace.
func (d *diagnosis) contents(namespace string) contents {
	kinds, sure := d.Kinds()
	c := contents{sure: sure}
	for _, k := range kinds {
		if !k.Namespaced || !holds(k) {
			continue
		}
		objects, sure := d.Metadata(k.GVK, namespace)
		c.sure = c.sure && sure
		c.add(objects)
	}
	return c
}

// holds reports whether objects of the kind are deleted with their namespace and can be
// listed. Events do not count: they come and go.
func holds(k object.Kind) bool {
	return slices.Contains(k.Verbs, "list") && slices.Contains(k.Verbs, "delete") && k.Resource != "events"
}

// explained limits how many objects of one content are explained: the same causes hold up
// the rest.
const explained = 300

// causes returns the causes that hold up the contents, each with the number of objects it
// holds back. It includes objects that are not being deleted yet: what is broken now will
// hold them up too.
func (c contents) causes(d *diagnosis) []finding {
	var all []finding
	held := map[rootKey][]string{}
	for _, u := range c.oldest() {
		for _, f := range d.causes(u) {
			if !diagnose.Terminating(u) && f.rank != rankAdmission && f.rank != rankBroken {
				continue
			}
			key := keyOf(f.Cause)
			if slices.Contains(d.looked, key.blockedBy) {
				continue // A cycle: the object waits for what waits for it.
			}
			if held[key] == nil {
				all = append(all, f)
			}
			held[key] = append(held[key], diagnose.Name(object.RefOf(u)))
		}
	}
	for i, f := range all {
		of := slices.Compact(held[keyOf(f.Cause)])
		all[i].Evidence = append([]string{"holds back " + text.Count(len(of), "object") + " in it: " + text.List(of, 3)}, f.Evidence...)
	}
	return all
}

// oldest returns the objects to explain: first those that have been terminating the
// longest, then those with finalizers.
func (c contents) oldest() []*unstructured.Unstructured {
	sorted := slices.Clone(c.going)
	for _, u := range c.present {
		if len(u.GetFinalizers()) > 0 {
			sorted = append(sorted, u)
		}
	}
	rank := func(u *unstructured.Unstructured) int {
		if diagnose.Terminating(u) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sorted, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(rank(a)-rank(b), diagnose.Since(a).Compare(diagnose.Since(b)), object.RefOf(a).Compare(object.RefOf(b)))
	})
	return sorted[:min(len(sorted), explained)]
}

// remain says how many objects are left, and of which kinds.
func (c contents) remain(u *unstructured.Unstructured) finding {
	perKind := map[schema.GroupKind]int{}
	for _, o := range slices.Concat(c.going, c.present) {
		perKind[o.GroupVersionKind().GroupKind()]++
	}
	kinds := slices.SortedFunc(maps.Keys(perKind), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(perKind[b], perKind[a]), cmp.Compare(a.String(), b.String()))
	})
	var evidence []string
	for _, k := range kinds {
		evidence = append(evidence, strconv.Itoa(perKind[k])+" "+strings.ToLower(k.String()))
	}
	f := finding{rank: rankWaiting, Cause: event.Cause{
		Code:     ContentRemains,
		Message:  fmt.Sprintf("%s left in it, %d of them terminating", text.Count(c.total(), "object"), len(c.going)),
		Evidence: diagnose.Some(evidence, 8),
	}}
	if len(c.going) == 0 {
		f.Evidence = append(f.Evidence, "none of it was deleted yet: its turn may still come")
	}
	if diagnose.IsKind(u, "apiextensions.k8s.io", "CustomResourceDefinition") {
		f.Code, f.Message = InstancesRemain, fmt.Sprintf("%s of the kind left, %d of them terminating", text.Count(c.total(), "object"), len(c.going))
	}
	return f
}

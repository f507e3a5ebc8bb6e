package rollouts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/rollouts"
)

// kept is an object in which a simulated controller keeps a template.
type kept struct {
	template map[string]any
	created  int
	written  int
	numbers  []int
}

// sending is a simulated write.
type sending struct {
	at            int
	user, manager string
	before, after map[string]any
	rolled        int // the revision that has it
}

// In random histories of writes, of which some are not recorded and some are replaced before the
// controller acts, no recorded write gives a wrong writer or user. If all are recorded and rolled
// out, each revision has both.
func TestRolloutsAreJoined(t *testing.T) {
	named, all := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		ofSets := seed%2 == 0
		complete := seed%3 == 0
		writes, objects := simulate(r, complete)
		live := deployment(writes[len(writes)-1].after)
		var recorded []event.Rollout
		for _, one := range writes[1:] {
			if complete || r.IntN(4) > 0 {
				recorded = append(recorded, event.Rollout{
					Time: minute(one.at), User: one.user, Writer: &managedfields.Owner{Manager: one.manager, Operation: "Update"},
					Before: ownership.TemplateDigest("web", one.before), After: ownership.TemplateDigest("web", one.after),
				})
			}
		}
		var keep []*unstructured.Unstructured
		for i, o := range objects {
			keep = append(keep, o.object(i, ofSets))
		}
		if !ofSets {
			live.SetKind("StatefulSet")
		}
		got, _, err := rollouts.Of(live, keep, rollouts.Recorded{Rollouts: recorded})
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range got {
			for _, c := range revision.Changes {
				all++
				if c.User == "" && c.Writer == nil {
					if complete && ofSets {
						t.Fatalf("seed %d, revision %d: %s: not named\nwrites: %+v\n%+v", seed, revision.Number, c.Path, writes, got)
					}
					continue
				}
				named++
				if want := author(writes, revision, c); c.User != "" && c.User != want.user || c.Writer != nil && c.Writer.Manager != want.manager {
					t.Fatalf("seed %d, revision %d since %d: %s: %v > %v by %v %q, want %+v\nwrites: %+v", seed, revision.Number, revision.Since, c.Path, c.From, c.To, c.Writer, c.User, want, writes)
				}
			}
		}
	}
	t.Logf("%d of %d changes are named", named, all)
}

// author returns the write that made a change: the last one that set its value.
func author(writes []sending, revision event.Revision, c event.RevisionChange) (found sending) {
	path := c.Path[2:]
	for _, one := range writes {
		after, _ := path.Get(one.after)
		before, _ := path.Get(one.before)
		if one.rolled > int(revision.Since) && (one.rolled <= int(revision.Number) || revision.Number == 0) && fmt.Sprint(before) != fmt.Sprint(after) && fmt.Sprint(after) == fmt.Sprint(c.To) {
			found = one
		}
	}
	return found
}

func simulate(r *rand.Rand, complete bool) (writes []sending, objects []*kept) {
	template := func() map[string]any { return pods(fmt.Sprint(r.IntN(3)), 0, fmt.Sprint(r.IntN(2))) }
	writes = []sending{{at: 1, user: "jane", after: template(), before: map[string]any{}}}
	number, at := 0, 1
	roll := func(from int) {
		number++
		for i := range writes[from:] {
			writes[from+i].rolled = number
		}
		last := writes[len(writes)-1].after
		i := slices.IndexFunc(objects, func(k *kept) bool { return text(k.template) == text(last) })
		if i < 0 {
			objects = append(objects, &kept{template: last, created: at})
			i = len(objects) - 1
		}
		objects[i].numbers, objects[i].written = append(objects[i].numbers, number), at
	}
	roll(0)
	rolled := 1
	for range 2 + r.IntN(8) {
		at += 1 + r.IntN(2)
		before := writes[len(writes)-1].after
		after := template()
		if text(before) == text(after) {
			continue
		}
		user := []string{"jane", "joe"}[r.IntN(2)]
		writes = append(writes, sending{at: at, user: user, manager: "of-" + user, before: before, after: after, rolled: 1 << 20})
		if complete || r.IntN(4) > 0 {
			if text(writes[rolled-1].after) != text(after) {
				roll(rolled)
			} else { // It was changed back before the controller acted.
				for i := range writes[rolled:] {
					writes[rolled+i].rolled = -1
				}
			}
			rolled = len(writes)
		}
	}
	return writes, objects
}

func (k *kept) object(i int, ofSets bool) *unstructured.Unstructured {
	last := k.numbers[len(k.numbers)-1]
	if ofSets {
		var earlier []string
		for _, n := range k.numbers[:len(k.numbers)-1] {
			earlier = append(earlier, strconv.Itoa(n))
		}
		u := keptSince(k.created, last, k.template, strings.Join(earlier, ","))
		u.SetName(fmt.Sprint("web-", i))
		u.SetManagedFields(nil)
		// Its number of replicas is written later, too.
		_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"manager": "k", "operation": "Update", "time": minute(k.written + i%3).Format(time.RFC3339)}}, "metadata", "managedFields")
		return u
	}
	u := object(fmt.Sprintf(`{apiVersion: apps/v1, kind: ControllerRevision, revision: %d, metadata: {name: web-%d, namespace: shop, creationTimestamp: %q,
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: web, controller: true}],
  managedFields: [{manager: k, operation: Update, apiVersion: apps/v1, time: %q, fieldsType: FieldsV1, fieldsV1: {'f:revision': {}}}]}}`, last, i, stamp(k.created), stamp(k.written)))
	template := copied(k.template)
	template["$patch"] = "replace"
	u.Object["data"] = map[string]any{"spec": map[string]any{"template": template}}
	u.Object["revision"] = int64(last)
	return u
}

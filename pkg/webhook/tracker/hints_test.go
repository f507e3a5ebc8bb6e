package tracker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// large returns a hint for an object with a megabyte of managed fields.
func large(n int) ownership.Hint {
	set := &metav1.FieldsV1{}
	set.SetRawString(fmt.Sprintf(`{"f:%d%s":{}}`, n, strings.Repeat("x", 1<<20)))
	id := types.UID(fmt.Sprint(n))
	return ownership.Hint{UID: id, Request: id, Owners: ownership.Compact([]metav1.ManagedFieldsEntry{
		{Manager: "argo", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: set},
	})}
}

// The memory of hints is bounded, even if the objects are large and all the writes failed.
func TestHintsBounded(t *testing.T) {
	var h hints
	now := time.Now()
	dropped := 0
	for n := range 100 {
		if h.add(large(n), now) {
			dropped++
		}
	}
	if h.bytes > maxHintBytes || h.count > 64 || dropped < 36 {
		t.Errorf("%d hints of %d bytes are kept, %d were dropped", h.count, h.bytes, dropped)
	}
	if h.expire(now.Add(hintLife)); h.bytes != 0 || h.count != 0 {
		t.Errorf("%d hints of %d bytes are left in the end", h.count, h.bytes)
	}
}

// The queue of hints that were not handled yet is bounded too.
func TestQueueBounded(t *testing.T) {
	tracker := &Tracker{queue: make(chan ownership.Hint, queuedHints)}
	taken := 0
	for n := range 100 {
		if tracker.Hint(large(n)) {
			taken++
		}
	}
	if taken > 64 || taken < 60 {
		t.Errorf("%d hints of a megabyte are queued", taken)
	}
}

// A hint of a write through scale matches a change through that subresource from the same version.
// If the hint has a manager, the change must be by that manager.
func TestScaledHint(t *testing.T) {
	by := func(manager, subresource string) []ownership.Transition {
		return []ownership.Transition{{After: []managedfields.Owner{{Manager: manager, Operation: "Update", Subresource: subresource}}}}
	}
	two := append(by("kubectl", "scale"), by("kubectl", "scale")...)
	for name, tt := range map[string]struct {
		manager, from string
		transitions   []ownership.Transition
		want          bool
	}{
		"scaled":                               {"", "7", by("kubectl", "scale"), true},
		"scaled by its manager":                {"kubectl", "7", by("kubectl", "scale"), true},
		"scaled by another":                    {"kubectl", "7", by("hpa", "scale"), false},
		"from another version":                 {"", "8", by("kubectl", "scale"), false},
		"a write of the object":                {"", "7", by("kubectl", ""), false},
		"more changes than one scale can make": {"", "7", two, false},
	} {
		var h hints
		h.add(ownership.Hint{UID: "1", ResourceVersion: "7", User: "alice", Scaled: true, Manager: tt.manager}, noon)
		if found, ok := h.match("1", tt.from, ownership.Owners{}, ownership.Metadata{}, tt.transitions); ok != tt.want || ok && found.User != "alice" {
			t.Errorf("%s: %t", name, ok)
		}
	}
}

// Two hints match one change, so one of the writes was refused. The change gets values only if the
// hints agree.
func TestValuesOfTwoHints(t *testing.T) {
	for second, want := range map[string]string{"5": "5", "6": ""} {
		s := begin(position{})
		s.list(9, fields("a", 5, "argo"))
		for _, to := range []string{"5", second} {
			s.hint(ownership.Hint{
				UID: "a", ResourceVersion: "5", User: "alice", Request: types.UID(to), Owners: ownership.Tracked(fields("a", 10, "flux").ManagedFields),
				Verdicts: ownership.VerdictsOn([]ownership.Transition{{Kind: ownership.Taken}}),
				Values:   map[string]ownership.ValueChange{".data.k": {From: "3", To: to}},
			}, noon)
		}
		s.change("a", 10, "flux")
		if got := s.given[0].occurrences[0]; got.Values.To != want || got.User != "alice" {
			t.Errorf("hints of 5 and %s: %+v", second, got)
		}
	}
}

// The API server first tries a write on a cached version. If another write of the same manager has
// meanwhile led to the same owners, the hint of the first try is not one of that other write, from
// which it would get a wrong user and wrong verdicts (edge case 72).
func TestHintOfFirstTry(t *testing.T) {
	for name, tt := range map[string]struct {
		apiVersion, revision string
		user                 string
	}{
		"the same write":               {"v1", "2", "alice"},
		"a write of other annotations": {"v1", "1", ""},
		"annotations of a conversion":  {"v1beta1", "1", "alice"},
	} {
		s := begin(position{})
		s.list(9, fields("a", 5, "argo"))
		s.hint(ownership.Hint{
			UID: "a", ResourceVersion: "5", User: "alice", Request: "1", Owners: ownership.Tracked(fields("a", 10, "flux").ManagedFields),
			Metadata: ownership.MetadataOf(tt.apiVersion, nil, map[string]string{"revision": tt.revision}),
			Verdicts: ownership.VerdictsOn([]ownership.Transition{{Kind: ownership.Taken}}),
		}, noon)
		o := fields("a", 10, "flux")
		o.Annotations = map[string]string{"revision": "2"}
		s.take(s.onObject(s.w, o, false, s.now))
		s.wait(grace)
		if got := s.given[0].occurrences[0]; got.User != tt.user {
			t.Errorf("%s: got the user %q, want %q", name, got.User, tt.user)
		}
	}
}

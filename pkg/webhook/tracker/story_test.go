package tracker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const grace = 5 * time.Second

// tale is a state in a story, and the transitions that must be recorded.
type tale struct {
	*state
	w     *watched
	now   time.Time
	given []*pendingChange
	lines []string
	// others is the number of reported transitions that are not recorded.
	others int
	// admitted lists the versions of objects for which there are hints.
	admitted map[string]bool
}

func begin(promised position) *tale {
	b := newState(grace)
	k := kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, name: "ConfigMap", namespaced: true}
	return &tale{state: b, w: b.add(k, promised), now: noon, admitted: map[string]bool{}}
}

// fields returns an object whose key k has one owner.
func fields(uid string, version int, manager string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.UID, o.Name, o.Namespace, o.ResourceVersion = types.UID(uid), uid, "work", fmt.Sprint(version)
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: manager, Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`)},
		{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Subresource: "status", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:s%d":{}}`, version))},
	}
	return o
}

func (s *tale) list(version int, objects ...*metav1.PartialObjectMetadata) {
	s.afresh(s.w, s.now)
	for _, o := range objects {
		s.take(s.onObject(s.w, o, true, s.now))
	}
	s.listed(s.w, fmt.Sprint(version), s.now)
}

func (s *tale) change(uid string, version int, manager string) {
	s.take(s.onObject(s.w, fields(uid, version, manager), false, s.now))
}

// admit sends a hint for a write that takes the key from its owner.
func (s *tale) admit(uid string, from int, manager, user string) {
	s.judged(uid, from, manager, user, ownership.Taken, "")
}

// judged reports a write together with admission's verdict.
func (s *tale) judged(uid string, from int, manager, user string, kind ownership.Kind, why ownership.Why) {
	s.admitted[fmt.Sprint(uid, "@", from)] = true
	s.hint(ownership.Hint{
		Verdicts: ownership.VerdictsOn([]ownership.Transition{{Kind: kind, Why: why, Forced: kind == ownership.Taken}}),
		UID:      types.UID(uid), ResourceVersion: fmt.Sprint(from), User: user, Request: types.UID(fmt.Sprint(user, from, s.hints.count)),
		Owners: ownership.Tracked(fields(uid, from+1, manager).ManagedFields),
	}, s.now)
}

func (s *tale) wait(d time.Duration) {
	s.now = s.now.Add(d)
	s.take(s.due(s.now))
}

func (s *tale) take(given []*pendingChange) {
	s.given = append(s.given, given...)
	for _, m := range given {
		for _, o := range m.occurrences {
			if !o.Notable() {
				s.others++
				continue
			}
			line := fmt.Sprintf("%s@%s %s>%s", o.Object.Name, o.ResourceVersion, o.Before[0].Manager, o.After[0].Manager)
			if o.User != "" {
				line += " by " + o.User
			}
			if o.User != "" && !o.Noted && !s.admitted[fmt.Sprint(m.uid, "@", m.from)] {
				line += ", who did not"
			}
			if o.Gap {
				line += " gap"
			}
			if want := o.User != ""; o.Kind == ownership.Taken != want || o.Forced != want {
				line += " " + string(o.Kind)
			}
			s.lines = append(s.lines, line)
		}
	}
}

func (s *tale) settleAll() {
	for _, m := range s.given {
		s.end(m, ownership.OutcomeRecorded)
	}
	s.given = nil
}

// end settles all occurrences of a change.
func (s *tale) end(m *pendingChange, o ownership.Outcome) {
	for i, open := range m.open {
		if open {
			s.settle(m, i, o)
		}
	}
}

// at returns the version of the checkpoint, and the number of notes in it.
func (s *tale) at() string {
	out := s.store(maxNotes, s.now)
	s.undeclared = out.news
	at := out.checkpoint.Resources["configmaps"].Version
	if len(out.seen) > 0 {
		at += fmt.Sprintf(" +%d", len(out.seen))
	}
	return at
}

func TestStories(t *testing.T) {
	tests := map[string]struct {
		report func(*tale)
		want   []string
		// at is the expected checkpoint at the end, with the number of its notes.
		at string
	}{
		"a new object takes nothing from an owner": {
			report: func(s *tale) { s.list(9); s.lead(true, s.now); s.change("a", 10, "argo"); s.wait(grace) },
			at:     "10",
		},
		"a change with a hint is recorded at once with its user": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.admit("a", 5, "flux", "alice")
				s.change("a", 10, "flux")
			},
			want: []string{"a@10 argo>flux by alice"}, at: "10 +1",
		},
		"a change that admission judged harmless is reported but not recorded": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.judged("a", 5, "flux", "alice", ownership.Unclear, ownership.SameValue)
				s.change("a", 10, "flux")
				if s.others != 1 {
					s.lines = append(s.lines, "not told")
				}
			},
			at: "10",
		},
		"a path without an owner is reported but does not delay the checkpoint": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.wait(grace)
				s.settleAll()
				more := fields("a", 11, "flux")
				more.ManagedFields[0].FieldsV1.SetRawString(`{"f:data":{"f:k":{},"f:l":{}}}`)
				s.take(s.onObject(s.w, more, false, s.now))
				if s.others != 1 {
					s.lines = append(s.lines, "not told")
				}
			},
			want: []string{"a@10 argo>flux"}, at: "11",
		},
		"a hint that comes after the change": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.admit("a", 5, "flux", "alice")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux by alice"}, at: "10 +1",
		},
		"a change without a hint is recorded after the grace period": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux"}, at: "10 +1",
		},
		"changes of an object are recorded in order, with or without a user": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"), fields("b", 6, "argo"))
				s.change("a", 10, "flux")
				s.admit("a", 10, "helm", "alice")
				s.change("a", 11, "helm")
				s.admit("b", 6, "flux", "bob")
				s.change("b", 12, "flux")
				s.wait(grace)
			},
			want: []string{"b@12 argo>flux by bob", "a@10 argo>flux", "a@11 flux>helm by alice"}, at: "12 +3",
		},
		"a change before the leader's checkpoint stays noted until it is recorded": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.change("a", 10, "flux")
				s.change("a", 11, "argo")
				s.wait(grace)
				s.passed(Checkpoint{Resources: map[string]position{"configmaps": {Version: "10"}}})
				s.lead(true, s.now)
			},
			want: []string{"a@10 argo>flux", "a@11 flux>argo"}, at: "11 +2",
		},
		"edge case 72: a refused write and an accepted write": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.admit("a", 5, "mallory", "mallory")
				s.change("a", 10, "flux")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux"}, at: "10 +1",
		},
		"edge case 72: a write tried three times with three hints": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.admit("a", 5, "flux", "alice")
				s.change("a", 6, "argo")
				s.admit("a", 6, "flux", "alice")
				s.change("a", 7, "argo")
				s.admit("a", 7, "flux", "alice")
				s.change("a", 8, "argo")
				s.admit("a", 8, "flux", "alice")
				s.change("a", 10, "flux")
			},
			want: []string{"a@10 argo>flux by alice"}, at: "10 +1",
		},
		"two users with hints for the same change, so the user is unknown": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.admit("a", 5, "flux", "alice")
				s.admit("a", 5, "flux", "bob")
				s.change("a", 10, "flux")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux taken"}, at: "10 +1",
		},
		"a repeated event and an outdated one": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.change("a", 10, "flux")
				s.change("a", 5, "argo")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux"}, at: "10 +1",
		},
		"a list after a watch broke": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"), fields("b", 6, "argo"), fields("c", 7, "argo"))
				s.lead(true, s.now)
				s.list(20, fields("a", 15, "flux"), fields("b", 6, "argo"), fields("d", 16, "flux"))
				s.wait(grace)
			},
			want: []string{"a@15 argo>flux gap"}, at: "20 +1",
		},
		"a write refused before a gap and repeated within it": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.admit("a", 5, "flux", "alice")
				s.list(20, fields("a", 15, "flux")) // helm had it in between
				s.admit("a", 5, "flux", "alice")
				s.wait(grace)
			},
			want: []string{"a@15 argo>flux gap"}, at: "20 +1",
		},
		"a list after the history was reset": {
			report: func(s *tale) {
				s.list(99, fields("a", 95, "argo"))
				s.lead(true, s.now)
				s.list(20, fields("a", 15, "flux"))
				s.wait(grace)
				s.settleAll()
				s.change("a", 21, "argo")
				s.wait(grace)
			},
			want: []string{"a@15 argo>flux gap", "a@21 flux>argo"}, at: "21 +1",
		},
		"deleted, then another object is created": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.deleted(s.w, "a", "10", s.now)
				s.change("b", 11, "flux")
				s.wait(grace)
			},
			at: "11",
		},
		"a bookmark moves the checkpoint, and unsettled changes are noted": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"), fields("b", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.change("b", 12, "flux")
				s.wait(grace)
				s.end(s.given[1], ownership.OutcomeRecorded)
				s.bookmark(s.w, "30", s.now)
			},
			want: []string{"a@10 argo>flux", "b@12 argo>flux"}, at: "30 +1",
		},
		"all settled": {
			report: func(s *tale) {
				s.list(9, fields("a", 5, "argo"))
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.wait(grace)
				s.settleAll()
				s.bookmark(s.w, "30", s.now)
			},
			want: []string{"a@10 argo>flux"}, at: "30",
		},
		"resumed at the checkpoint": {
			report: func(s *tale) {
				s.w.promised = position{"7", noon.Add(-time.Minute)}
				s.resume(s.w)
				s.take(s.onObject(s.w, fields("a", 5, "argo"), true, s.now))
				s.resumed(s.w)
				s.lead(true, s.now)
				s.change("a", 10, "flux")
				s.wait(grace)
			},
			want: []string{"a@10 argo>flux"}, at: "10 +1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(position{})
			s.w.seen = position{} // no list was read yet
			tt.report(s)
			s.dealt(firstOf(s.openGaps()))
			if diff := cmp.Diff(tt.want, s.lines); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if got := s.at(); got != tt.at {
				t.Errorf("checkpoint at %q, want %q", got, tt.at)
			}
		})
	}
}

// Changes that were left to a leader count as recorded once the leader's checkpoint has passed
// them. If there is no such checkpoint, they are a gap that begins at the first of them.
func TestChangesLeftToLeader(t *testing.T) {
	tests := map[string]struct {
		passed int // by a leader's checkpoint
		gaps   int
	}{
		"checkpoint passed all changes":             {11, 0},
		"checkpoint passed all but the last change": {10, 1},
		"no checkpoint of a leader":                 {0, 1},
		"checkpoint far ahead of all changes":       {25, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(position{"9", noon})
			s.list(9, fields("a", 5, "argo"))
			s.dealt(s.gaps) // the earlier ones
			s.undeclared = Coverage{}
			s.change("a", 10, "flux")
			s.change("a", 11, "argo")
			s.wait(grace)
			for _, m := range s.given {
				s.end(m, ownership.OutcomeLeft)
			}
			if tt.passed > 0 {
				s.passed(Checkpoint{Resources: map[string]position{"configmaps": {Version: fmt.Sprint(tt.passed)}}})
			}
			s.bookmark(s.w, "30", s.now)
			s.lead(true, s.now)
			gaps, blind := s.openGaps()
			if len(gaps) != tt.gaps || blind != (tt.gaps > 0) {
				t.Errorf("%d gaps, blind %t", len(gaps), blind)
			}
			if out := s.store(maxNotes, s.now); len(out.news.Gaps) != tt.gaps || out.checkpoint.Compare != (tt.gaps > 0) {
				t.Errorf("got stored state %+v before the gaps are dealt with", out)
			}
			s.dealt(gaps)
			if at := s.at(); at != "30" {
				t.Errorf("after the gaps are dealt with: got checkpoint %s, want 30", at)
			}
		})
	}
}

func firstOf(gaps []*pendingChange, _ bool) []*pendingChange { return gaps }

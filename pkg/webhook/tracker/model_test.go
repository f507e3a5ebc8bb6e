package tracker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// truth is the history as in etcd: every write of every object.
type truth struct {
	version int
	now     time.Time
	objects map[string]*metav1.PartialObjectMetadata
	owner   map[string]string
	log     []written
}

// written is one write; its object is nil for a deletion.
type written struct {
	version int
	at      time.Time
	uid     string
	object  *metav1.PartialObjectMetadata
	line    string // the takeover that it was, if any
}

func (h *truth) write(random *rand.Rand) {
	h.version++
	h.now = h.now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
	uid := fmt.Sprint("o", random.IntN(6), "-", h.version/300)
	if random.IntN(25) == 0 && h.objects[uid] != nil {
		delete(h.objects, uid)
		delete(h.owner, uid)
		h.log = append(h.log, written{version: h.version, at: h.now, uid: uid})
		return
	}
	by := []string{"argo", "flux", "helm"}[random.IntN(3)]
	w := written{version: h.version, at: h.now, uid: uid, object: fields(uid, h.version, by)}
	if random.IntN(2) == 0 { // A write through /scale leaves no time.
		w.object.ManagedFields[0].Time = &metav1.Time{Time: h.now.Truncate(time.Second)}
	}
	if from := h.owner[uid]; from != "" && from != by {
		w.line = fmt.Sprintf("%s@%d %s>%s", uid, h.version, from, by)
	}
	h.objects[uid], h.owner[uid] = w.object, by
	h.log = append(h.log, w)
}

// at returns the state of all objects at a version.
func (h *truth) at(version int) []*metav1.PartialObjectMetadata {
	state := map[string]*metav1.PartialObjectMetadata{}
	for _, w := range h.log {
		if w.version > version {
			break
		}
		state[w.uid] = w.object
		if w.object == nil {
			delete(state, w.uid)
		}
	}
	var out []*metav1.PartialObjectMetadata
	for _, o := range state {
		out = append(out, o)
	}
	return out
}

// model is a tracker that is killed and restarted, over one history.
type model struct {
	*tale
	truth  *truth
	random *rand.Rand
	seen   int // the version up to which the watch has come
	// recorded lists the transitions that were written, over all lives of the tracker. accused
	// lists those that were reported with a user or a verdict.
	recorded, accused map[string]bool
	// since is the version of the first list. No history before this version is promised.
	since int
	// vanished lists the takeovers of objects that were deleted before the tracker saw the
	// takeover.
	vanished map[string]bool
	// stored is the last checkpoint. declared lists the gaps that were declared up to then.
	stored   stored
	declared Coverage
}

// keep stores a checkpoint with at most some of the notes.
func (m *model) keep() {
	m.stored = m.store(m.random.IntN(12), m.now)
	m.declared.Add(m.stored.news.Gaps...)
	if m.random.IntN(2) == 0 {
		m.wrote(fmt.Sprint(m.truth.version), m.truth.now)
	}
}

// deliver delivers changes to the tracker, some of them twice or late.
func (m *model) deliver() {
	m.now = m.truth.now
	if m.random.IntN(4) == 0 { // The watch began anew, and a little happened since.
		m.asked(m.w, fmt.Sprint(m.truth.version), m.now)
		for range m.random.IntN(3) {
			m.truth.write(m.random)
		}
		m.now = m.truth.now
	}
	for _, w := range m.truth.log {
		if w.version <= m.seen {
			if _, there := m.w.objects[types.UID(w.uid)]; there && w.object != nil && m.random.IntN(40) == 0 {
				m.report(w)
			}
			continue
		}
		for range 1 + m.random.IntN(2) {
			m.report(w)
		}
		m.seen = w.version
	}
}

func (m *model) report(w written) {
	if w.object == nil {
		m.deleted(m.w, types.UID(w.uid), fmt.Sprint(w.version), m.now)
		return
	}
	m.take(m.onObject(m.w, w.object, false, m.now))
}

// write writes some of the reported changes, and settles them.
func (m *model) write() {
	m.given = slices.DeleteFunc(m.given, func(x *pendingChange) bool {
		if m.random.IntN(2) == 0 {
			return false
		}
		if m.random.IntN(8) == 0 { // The memory was full.
			m.end(x, ownership.OutcomeLost)
			return true
		}
		for _, o := range x.unsettled() {
			line := fmt.Sprintf("%s@%s %s>%s", o.Object.UID, o.ResourceVersion, o.Before[0].Manager, o.After[0].Manager)
			if !o.Gap {
				m.recorded[line] = true
			}
			if o.User != "" || o.Kind == ownership.Taken {
				m.accused[line] = true
			}
		}
		m.end(x, ownership.OutcomeRecorded)
		return true
	})
}

// kill ends the tracker and starts it again from a checkpoint, or from the current state if the
// checkpoint is lost.
func (m *model) kill(forgotten bool) {
	from := m.stored.checkpoint.Resources["configmaps"]
	content, err := encodeSeen(m.stored.seen)
	if err != nil {
		panic(err)
	}
	seen, err := decodeSeen(content)
	if err != nil {
		panic(err)
	}
	m.tale = begin(from)
	m.now = m.truth.now
	m.lead(true, m.now)
	m.take(m.withOccurrences(seen, m.now))
	version := 0
	_, _ = fmt.Sscan(from.Version, &version)
	if from.Version == "" || forgotten {
		m.relist(version)
		return
	}
	m.resume(m.w)
	for _, o := range m.truth.at(version) {
		m.take(m.onObject(m.w, o, true, m.now))
	}
	m.resumed(m.w)
	m.seen = version
}

func (m *model) relist(from int) {
	m.now = m.truth.now
	if from == 0 {
		m.since = m.truth.version
	}
	for _, w := range m.truth.log {
		if w.version > from && m.truth.objects[w.uid] == nil {
			m.vanished[w.line] = true
		}
	}
	m.seen = m.truth.version
	m.afresh(m.w, m.now)
	for range m.random.IntN(3) { // while it is read
		m.truth.write(m.random)
	}
	m.now = m.truth.now
	for _, o := range m.truth.at(m.seen) {
		m.take(m.onObject(m.w, o, true, m.now))
	}
	m.listed(m.w, fmt.Sprint(m.seen), m.now)
	m.dealt(firstOf(m.openGaps()))
}

// The records and the declared gaps together are the truth. This holds however changes are written,
// delivered twice, hinted at in any order, or dropped for lack of capacity (edge case 99), and however
// the tracker is killed.
func TestModel(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 9))
		m := &model{
			tale: begin(position{}), random: random, recorded: map[string]bool{}, accused: map[string]bool{}, vanished: map[string]bool{},
			truth: &truth{now: noon, objects: map[string]*metav1.PartialObjectMetadata{}, owner: map[string]string{}},
		}
		m.lead(true, m.now)
		m.truth.write(random)
		m.relist(0)
		for range 400 {
			switch random.IntN(20) {
			case 0:
				m.kill(random.IntN(4) == 0)
			case 1:
				if random.IntN(3) == 0 {
					m.relist(m.seen)
				}
			case 2, 3:
				m.write()
			case 4:
				m.keep()
			case 5, 6:
				m.truth.now = m.truth.now.Add(grace)
				m.now = m.truth.now
				m.wait(0)
			case 7, 8, 9:
				m.deliver()
			case 10, 11:
				m.admitSome()
			default:
				m.truth.write(random)
			}
		}
		m.finish()
		m.check(t, seed)
	}
}

// admitSome sends hints for some past, future, or refused writes.
func (m *model) admitSome() {
	w := m.truth.log[m.random.IntN(len(m.truth.log))]
	m.admit(w.uid, max(1, w.version-m.random.IntN(3)), "flux", "alice")
}

func (m *model) finish() {
	m.truth.write(m.random)
	m.deliver()
	m.wait(grace)
	for len(m.given) > 0 {
		m.write()
	}
	m.dealt(firstOf(m.openGaps()))
	m.keep()
}

func (m *model) check(t *testing.T, seed uint64) {
	t.Helper()
	known := map[string]bool{}
	for _, w := range m.truth.log {
		if w.line == "" {
			continue
		}
		known[w.line] = true
		declared := slices.ContainsFunc(m.declared.Gaps, func(g Gap) bool {
			of, limited := g.Of["ConfigMap"]
			return !w.at.Before(g.From) && !w.at.After(g.To) && (g.Of == nil || limited && (len(of) == 0 || slices.Contains(of, w.uid)))
		})
		if !m.recorded[w.line] && !declared && !m.vanished[w.line] && w.version > m.since {
			t.Fatalf("seed %d: %s, of %s, is neither recorded nor declared: %v", seed, w.line, w.at, m.declared.Gaps)
		}
	}
	if i := slices.IndexFunc(m.lines, func(l string) bool { return strings.Contains(l, "did not") }); i >= 0 {
		t.Fatalf("seed %d: %s", seed, m.lines[i])
	}
	for line := range m.recorded {
		if !known[line] {
			t.Fatalf("seed %d: %s is recorded, but did not happen", seed, line)
		}
	}
	for line := range m.accused { // in unwatched time, too
		if !known[line] {
			t.Fatalf("seed %d: %s has a user or a verdict, but did not happen", seed, line)
		}
	}
	if at := m.at(); at != fmt.Sprint(m.truth.version) {
		t.Fatalf("seed %d: the checkpoint is at %s, want %d", seed, at, m.truth.version)
	}
}

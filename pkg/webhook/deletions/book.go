package deletions

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

const (
	// withUser is how long a deletion with a user waits for others: if the process is killed before
	// it is written, only the audit log has the user.
	withUser = 200 * time.Millisecond
	// withoutUser is how long a deletion waits for its user and for the reason of its cause. Watches
	// of several kinds are not in order, so an object may go before its namespace is seen to go.
	withoutUser = 3 * time.Second
	// storm is how many deletions without a user in one namespace are a storm. It is written once it pauses for
	// withoutUser, but after stormFor at the latest: the API server needs 70 ms for a record of 100 kB.
	storm    = 100
	stormFor = 30 * time.Second
	// refusedAfter is when a hint expires for which no deletion is seen: the deletion was refused.
	refusedAfter = 2 * time.Minute
	// keptForLeader is how long other replicas keep what the leader should write. A Lease expires
	// sooner.
	keptForLeader = time.Minute
	// giveUp is how long a refused write is retried.
	giveUp = 5 * time.Minute
	// maxPending bounds the deletions in memory, and maxWent what explains others.
	maxPending, maxWent = 50_000, 50_000
	wentFor             = 30 * time.Minute
)

// Gone is an object that is going or gone, as a watch shows it.
type Gone struct {
	Object ownership.Object
	// Time is zero if the object still exists. Version is its last resourceVersion, that of its deletion if it
	// is gone. It is empty if the object was missing in a list.
	Time    time.Time
	Version string
	Gap     bool
	// Refs are the object's owners, and Owners those of its fields.
	Refs   []metav1.OwnerReference
	Owners []ownership.Holder
}

// pending is a deletion that is not written yet.
type pending struct {
	Gone
	seen    bool // by a watch
	user    string
	several bool
	asked   time.Time
	settled []func()
	came    time.Time
	due     time.Time
	// written means that the record says that the object is going.
	written bool
	// news counts what became known. A write contains what was known when it began.
	news, sent int
	// record is the name of the record that it belongs to, while its namespace is going or not. It is
	// kept, because a storm looks at thousands of deletions ten times a second.
	record types.NamespacedName
	going  bool
}

// book decides what to write, and when. It reads no clock.
type book struct {
	leads   bool
	pending map[types.UID]*pending
	// went holds the objects that are going or gone, and namespaces those that are, by name.
	went       map[types.UID]time.Time
	namespaces map[string]time.Time
	lost       map[string]int // by namespace
	swept      time.Time
}

func newBook() *book {
	return &book{pending: map[types.UID]*pending{}, went: map[types.UID]time.Time{}, namespaces: map[string]time.Time{}, lost: map[string]int{}}
}

func (b *book) open(uid types.UID, now time.Time) *pending {
	p := b.pending[uid]
	if p == nil {
		if len(b.pending) >= maxPending {
			return nil
		}
		p = &pending{came: now}
		b.pending[uid] = p
	}
	return p
}

// hint handles a deletion that admission allowed. Another client may refuse it, so it is written
// only once a watch shows that the object is going.
func (b *book) hint(h ownership.DeletionHint, now time.Time) bool {
	p := b.open(h.UID, now)
	if p == nil {
		return false
	}
	if p.user != "" && p.user != h.User || p.several {
		p.user, p.several = "", true
	} else {
		p.user = h.User
	}
	if p.asked.IsZero() {
		p.asked = h.Time
	}
	p.news++
	if p.written {
		p.written, p.came = false, now
	}
	b.schedule(p, now)
	return true
}

func (p *pending) named() bool { return p.user != "" || p.several }

// see handles an object that a watch shows as going or gone. settled is called once this replica has
// nothing more to do for an object that is gone; it may be nil.
func (b *book) see(g Gone, settled func(), now time.Time) {
	b.note(g, now)
	p := b.open(g.Object.UID, now)
	switch {
	case p == nil:
		if !g.Time.IsZero() {
			b.lost[g.Object.Namespace]++
		}
		if settled != nil {
			settled()
		}
		return
	case !p.seen:
		p.came = now // A hint may have waited.
	case !p.Time.IsZero():
		g.Time = p.Time
	}
	wasGone := !p.Time.IsZero()
	p.Gone, p.seen = g, true
	if settled != nil {
		p.settled = append(p.settled, settled)
	}
	if !g.Time.IsZero() && !wasGone {
		p.news++
		p.written, p.came = false, now
	}
	b.schedule(p, now)
}

func (b *book) note(g Gone, now time.Time) {
	if len(b.went) < maxWent {
		b.went[g.Object.UID] = now
	}
	if g.Object.Kind == "Namespace" && g.Object.APIVersion == "v1" {
		b.namespaces[g.Object.Name] = now
	}
}

func (b *book) schedule(p *pending, now time.Time) {
	wait := withoutUser
	if p.named() {
		wait = withUser
	}
	if due := now.Add(wait); p.due.IsZero() || due.Before(p.due) {
		p.due = due
	}
}

// lead sets whether this replica writes the deletions without a user.
func (b *book) lead(leads bool) { b.leads = leads }

// dueNow returns the deletions to write now, by the record that they belong to. Each of them stays
// pending until it is answered.
func (b *book) dueNow(own string, now time.Time, all bool) map[types.NamespacedName][]*pending {
	b.sweep(now)
	out, inNamespace, later := map[types.NamespacedName][]*pending{}, map[string]int{}, map[string]int{}
	for _, p := range b.pending {
		if p.written || !p.seen || !p.named() && !b.leads {
			continue
		}
		if _, going := b.namespaces[p.Object.Namespace]; p.record.Name == "" || p.going != going {
			r := b.recordOf(p, own)
			p.record, p.going = types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, going
		}
		inNamespace[p.Object.Namespace]++
		if !all && p.due.After(now) {
			later[p.Object.Namespace]++
			continue
		}
		out[p.record] = append(out[p.record], p)
	}
	maps.DeleteFunc(out, func(_ types.NamespacedName, due []*pending) bool {
		namespace := due[0].Object.Namespace
		return later[namespace] > 0 && inNamespace[namespace] >= storm && !slices.ContainsFunc(due, func(p *pending) bool { return p.hurries(now) })
	})
	return out
}

// hurries reports whether a deletion does not wait for those of the same storm that will be due later.
func (p *pending) hurries(now time.Time) bool { return p.named() || now.Sub(p.came) > stormFor }

func (b *book) recordOf(p *pending, own string) *ownership.Record {
	_, going := b.namespaces[p.Object.Namespace]
	return ownership.NewDeletionRecord(p.Object, own, going)
}

// sweep forgets hints of refused deletions, and what a leader must have written by now.
func (b *book) sweep(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for uid, p := range b.pending {
		age := now.Sub(p.came)
		if !p.seen && age > refusedAfter || p.written && p.Time.IsZero() && age > refusedAfter || p.seen && !p.named() && !b.leads && age > keptForLeader {
			b.close(uid, p)
		}
	}
	for uid, at := range b.went {
		if now.Sub(at) > wentFor {
			delete(b.went, uid)
		}
	}
	for name, at := range b.namespaces {
		if now.Sub(at) > wentFor {
			delete(b.namespaces, name)
		}
	}
}

func (b *book) close(uid types.UID, p *pending) {
	for _, settled := range p.settled {
		settled()
	}
	p.settled = nil
	delete(b.pending, uid)
}

// answer handles the outcome of a write.
func (b *book) answer(done []*pending, ok bool, now time.Time) {
	for _, p := range done {
		switch {
		case ok && p.news != p.sent: // More became known during the write.
			p.due = now
		case ok && p.Time.IsZero():
			p.written = true
		case ok:
			b.close(p.Object.UID, p)
		case now.Sub(p.came) > giveUp:
			b.lost[p.Object.Namespace]++
			b.close(p.Object.UID, p)
		default:
			p.due = now.Add(5 * time.Second)
		}
	}
}

// deletion returns the record's entry, which is about to be written.
func (b *book) deletion(p *pending) ownership.Deletion {
	p.sent = p.news
	d := ownership.Deletion{Object: p.Object, User: p.user, Several: p.several, By: ownership.CauseOf(p.user), Owners: p.Owners, Gap: p.Gap, Version: p.Version}
	if !p.asked.IsZero() {
		d.Asked = metav1.NewTime(p.asked)
	}
	if !p.Time.IsZero() {
		d.Gone = metav1.NewTime(p.Time)
	}
	if p.several {
		d.By = ownership.ByUser
	}
	// The webhook is not asked about the deletions of the garbage collector and of the controller of
	// namespaces. Without a user, the object went with what it belongs to, if that went.
	via := b.belongedTo(p)
	switch {
	case d.By == ownership.ByUnknown && via.Kind == "Namespace":
		d.By, d.Via = ownership.ByNamespace, via
	case d.By == ownership.ByUnknown && via.Kind != "":
		d.By, d.Via = ownership.ByOwner, via
	case d.By == ownership.ByUnknown && len(p.Refs) > 0: // Its owner may never have existed, or only in another namespace.
		d.Via = referenceOf(ownersOf(p)[0])
	case d.By == ownership.ByOwner && via.Kind != "Namespace", d.By == ownership.ByNamespace && via.Kind == "Namespace":
		d.Via = via
	}
	return d
}

func (b *book) belongedTo(p *pending) ownership.Reference {
	if p.Object.Namespace != "" {
		if _, going := b.namespaces[p.Object.Namespace]; going {
			return ownership.Reference{Kind: "Namespace", Name: p.Object.Namespace}
		}
	}
	for _, ref := range ownersOf(p) {
		if _, went := b.went[ref.UID]; went {
			return referenceOf(ref)
		}
	}
	return ownership.Reference{}
}

// ownersOf returns the object's owners, the controller first.
func ownersOf(p *pending) []metav1.OwnerReference {
	return slices.SortedStableFunc(slices.Values(p.Refs), func(x, y metav1.OwnerReference) int {
		return cmp.Compare(btoi(y.Controller), btoi(x.Controller))
	})
}

func referenceOf(ref metav1.OwnerReference) ownership.Reference {
	return ownership.Reference{Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

func btoi(b *bool) int {
	if b != nil && *b {
		return 1
	}
	return 0
}

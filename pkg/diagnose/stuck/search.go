package stuck

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// search is the search for who removes a finalizer.
type search struct {
	// operator is who is known to own the finalizer; empty if nobody is.
	operator string
	// workloads are the likeliest, all equally so.
	workloads []candidate
	// lease is held by somebody whose workload was not found.
	lease *lease
	// evidence is what was looked at.
	evidence []string
	// sure: all that had to be read was read.
	sure bool
	// proven: something tells who the controller would be, so that it can be told
	// that he is not there.
	proven bool
	// suspects may be the controller, where nothing tells; alive is a sign of life of
	// whoever set the finalizer.
	suspects []suspect
	alive    string
}

// candidate is a workload that may be the finalizer's controller.
type candidate struct {
	workload
	score int
	// why, each on a line.
	why []string
	// lease that one of its pods holds, or held.
	lease *lease
}

// What a clue is worth. A name that the finalizer's owner goes by says most; the
// right to update is given to many; and who checks objects of a kind need not be
// the one who looks after them, as a policy does not.
const (
	worthName  = 4
	worthLease = 3
	worthGrant = 3
	worthHook  = 2
	worthRight = 1
)

// search looks for the workload of a finalizer's controller, by all that ties one
// to the other: the managers who set the finalizer, the names of operators that
// are known, leases, webhooks for the kind, and who has the right to update it.
func (d *diagnosis) search(u *unstructured.Unstructured, finalizer string) search {
	op := operatorOf(finalizer)
	s := search{operator: op.name, sure: true}
	workloads, sure := d.workloads()
	s.sure = s.sure && sure
	leases, sure := d.leases()
	s.sure = s.sure && sure
	accounts, sure := d.accounts(u, finalizer)
	s.sure = s.sure && sure
	hooks := d.hooksOf(u)

	names := append(managers(u, finalizer), op.workloads...)
	domain, groups := domainOf(finalizer), groupsBy(u, finalizer)
	var found []candidate
	for _, w := range workloads {
		c := candidate{workload: w}
		c.byName(names)
		c.byLease(leases, names, domain)
		c.byAccount(accounts, groups)
		c.byHook(d, hooks)
		if c.score > 0 {
			found = append(found, c)
		}
	}
	if len(found) == 0 { // He need not be a workload: a pod may run by itself, or for a Job or another's kind.
		pods, sure := d.podsAs(accounts)
		s.sure = s.sure && sure
		for _, w := range pods {
			c := candidate{workload: w}
			c.byAccount(accounts, groups)
			found = append(found, c)
		}
	}
	s.workloads = best(found)
	if len(s.workloads) == 0 {
		s.lease = leaseFor(leases, names, domain)
		if s.sure { // Of what could not be read, nobody can tell what is not there.
			s.evidence = notFound(names, groups, accounts, hooks)
		}
		s.proven = len(names)+len(accounts) > 0 || op.name != ""
		s.alive = d.alive(u, finalizer)
		if !s.proven {
			s.suspects = d.suspects(u, finalizer)
		}
	}
	if s.lease != nil && s.lease.stale(d.now) {
		s.evidence = append(s.evidence, s.lease.String(d.now))
		s.lease = nil
	}
	return s
}

func best(found []candidate) []candidate {
	slices.SortStableFunc(found, func(a, b candidate) int { return b.score - a.score })
	for i, c := range found {
		if c.score < found[0].score {
			return found[:i]
		}
	}
	return found
}

func (c *candidate) byName(names []string) {
	for _, n := range names {
		if c.called(n) {
			c.clue(worthName, "its name is that of "+quote(n)+", to whom the finalizer belongs")
			return
		}
	}
}

func (c *candidate) byLease(leases []lease, names []string, domain string) {
	for _, l := range leases {
		if l.ref.Namespace == c.ref.Namespace && strings.HasPrefix(l.holder, c.ref.Name+"-") {
			c.lease = &l
			if l.of(names, domain) {
				c.clue(worthLease, "its pod holds the lease "+name(l.ref))
				return
			}
		}
	}
}

func (c *candidate) byAccount(accounts []account, groups []string) {
	for _, a := range accounts {
		if a.namespace == c.ref.Namespace && a.name == c.account {
			worth := worthRight
			if a.granted {
				worth = worthGrant
			}
			c.clue(worth, "its service account was given rights on "+kindsOf(groups)+", by "+quote(a.role))
			return
		}
	}
}

func (c *candidate) byHook(d *diagnosis, hooks []hook) {
	for _, h := range hooks {
		if h.service != nil && d.serves(*h.service, c.workload) {
			c.clue(worthHook, "it serves the webhook "+quote(h.name)+" for this kind")
			return
		}
	}
}

func (c *candidate) clue(worth int, why string) {
	c.score += worth
	c.why = append(c.why, why)
}

// of tells whether the lease is named after the finalizer's owner.
func (l lease) of(names []string, domain string) bool {
	if slices.Contains(names, l.ref.Name) {
		return true
	}
	_, of, dotted := strings.Cut(l.ref.Name, ".") // controller-runtime's way: 8a3f.example.com
	return dotted && related(of, domain)
}

func leaseFor(leases []lease, names []string, domain string) *lease {
	for _, l := range leases {
		if l.of(names, domain) {
			return &l
		}
	}
	return nil
}

// managers are those who set the finalizer, as far as their name tells anything:
// not by the tools with which people write manifests, nor where it is what every
// controller calls itself.
func managers(u *unstructured.Unstructured, finalizer string) []string {
	var names []string
	for _, o := range owners(u, finalizer) {
		if !tool(o.Manager) && !generic(o.Manager) {
			names = append(names, o.Manager)
		}
	}
	return slices.Compact(names)
}

// domainOf is the domain in the name of a finalizer: example.com of both
// example.com/hold and hold.example.com.
func domainOf(finalizer string) string {
	domain, _, _ := strings.Cut(finalizer, "/")
	return domain
}

// related tells whether a domain is the other one, or below it.
func related(a, b string) bool {
	if !strings.Contains(a, ".") || !strings.Contains(b, ".") {
		return false
	}
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// notFound says where nothing was found.
func notFound(names, groups []string, accounts []account, hooks []hook) []string {
	evidence := []string{"no Deployment, StatefulSet or DaemonSet" + called(names) + ", and no lease of " + quote(groups[0])}
	if len(accounts) == 0 {
		return append(evidence, "no service account was given rights on "+kindsOf(groups)+" in particular")
	}
	for _, a := range accounts {
		evidence = append(evidence, fmt.Sprintf("service account %s -n %s was given rights on %s (%s), but no workload runs as it", quote(a.name), quote(a.namespace), kindsOf(groups), quote(a.role)))
	}
	for _, h := range hooks {
		if h.service != nil {
			evidence = append(evidence, "webhook "+quote(h.name)+" is served by service "+quote(h.service.name)+" -n "+quote(h.service.namespace)+", behind which no workload is")
		}
	}
	return some(evidence, 5)
}

func kindsOf(groups []string) string { return "kinds of " + quote(strings.Join(groups, " or ")) }

func called(names []string) string {
	if len(names) == 0 {
		return " is known to own it"
	}
	quotedNames := make([]string, len(names))
	for i, n := range names {
		quotedNames[i] = quote(n)
	}
	return " is called " + strings.Join(quotedNames, " or ")
}

// leases are all leases but those of nodes.
func (d *diagnosis) leases() ([]lease, bool) {
	r := once(d, "leases", d.readLeases)
	return r.items, r.sure
}

func (d *diagnosis) readLeases() result[lease] {
	objects, sure := d.list(kindOf("coordination.k8s.io/v1", "Lease"), "")
	var leases []lease
	for _, u := range objects {
		if l, ok := leaseOf(u); ok && u.GetNamespace() != "kube-node-lease" {
			leases = append(leases, l)
		}
	}
	return result[lease]{leases, sure}
}

// silentElsewhere: somebody holds the lease, but runs where we can not see him.
func (d *diagnosis) silentElsewhere(u *unstructured.Unstructured, finalizer string, s search) finding {
	f := d.silent(u, finalizer, object.RefOf(u))
	f.Message = "the controller of the finalizer " + quote(finalizer) + " is alive, but does not remove it; its workload was not found, it may run outside the cluster"
	f.Evidence = append(d.set(u, finalizer), s.lease.String(d.now))
	f.Next = "look into the log of " + word(s.lease.holder)
	f.BlockedBy = s.lease.ref
	return f
}

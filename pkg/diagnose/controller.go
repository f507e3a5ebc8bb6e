package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Search is the search for an object's controller.
type Search struct {
	// Operator is who is known to own the finalizer; empty if nobody is.
	Operator string
	// Workloads are the likeliest, all equally so.
	Workloads []Candidate
	// Lease is held by somebody whose workload was not found.
	Lease *Lease
	// Evidence is what was looked at.
	Evidence []string
	// Sure: all that had to be read was read.
	Sure bool
	// Proven: something tells who the controller would be, so that it can be told
	// that it is not there.
	Proven bool
	// Suspects may be the controller, where nothing tells; Alive is a sign of life of
	// whoever set the finalizer.
	Suspects []Suspect
	Alive    string
}

// Candidate is a workload that may be the finalizer's controller.
type Candidate struct {
	Workload
	// Why, each on a line.
	Why []string
	// Lease that one of its pods holds, or held.
	Lease *Lease

	score int
}

// Likely reports whether more than the right to write the object speaks for it.
func (c Candidate) Likely() bool { return c.score >= worthGrant }

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

// Controller looks for the workload of a finalizer's controller, by all that ties one
// to the other: the managers who set the finalizer, the names of operators that
// are known, leases, webhooks for the kind, and who has the right to update it.
func (r *Run) Controller(u *unstructured.Unstructured, finalizer string) Search {
	op := operatorOf(finalizer)
	s := Search{Operator: op.name, Sure: true}
	workloads, sure := r.Workloads()
	s.Sure = s.Sure && sure
	leases, sure := r.Leases()
	s.Sure = s.Sure && sure
	accounts, sure := r.accounts(u, finalizer)
	s.Sure = s.Sure && sure
	hooks := r.hooksOf(u)

	names := append(managers(u, finalizer), op.workloads...)
	domain, groups := domainOf(finalizer), groupsBy(u, finalizer)
	var found []Candidate
	for _, w := range workloads {
		c := Candidate{Workload: w}
		c.byName(names)
		c.byLease(leases, names, domain)
		c.byAccount(accounts, groups)
		c.byHook(r, hooks)
		if c.score > 0 {
			found = append(found, c)
		}
	}
	if len(found) == 0 { // He need not be a workload: a pod may run by itself, or for a Job or another's kind.
		pods, sure := r.podsAs(accounts)
		s.Sure = s.Sure && sure
		for _, w := range pods {
			c := Candidate{Workload: w}
			c.byAccount(accounts, groups)
			found = append(found, c)
		}
	}
	s.Workloads = best(found)
	if len(s.Workloads) == 0 {
		s.Lease = leaseFor(leases, names, domain)
		if s.Sure { // Of what could not be read, nobody can tell what is not there.
			s.Evidence = notFound(names, groups, accounts, hooks)
		}
		s.Proven = len(names)+len(accounts) > 0 || op.name != ""
		s.Alive = r.alive(u, finalizer)
		if !s.Proven {
			s.Suspects = r.suspects(u, finalizer)
		}
	}
	if s.Lease != nil && s.Lease.Stale(r.Now) {
		s.Evidence = append(s.Evidence, s.Lease.String(r.Now))
		s.Lease = nil
	}
	return s
}

func best(found []Candidate) []Candidate {
	slices.SortStableFunc(found, func(a, b Candidate) int { return b.score - a.score })
	for i, c := range found {
		if c.score < found[0].score {
			return found[:i]
		}
	}
	return found
}

func (c *Candidate) byName(names []string) {
	for _, n := range names {
		if c.Called(n) {
			c.clue(worthName, "its name is that of "+Quote(n)+", to whom the finalizer belongs")
			return
		}
	}
}

func (c *Candidate) byLease(leases []Lease, names []string, domain string) {
	for _, l := range leases {
		if l.Ref.Namespace == c.Ref.Namespace && strings.HasPrefix(l.Holder, c.Ref.Name+"-") {
			c.Lease = &l
			if l.of(names, domain) {
				c.clue(worthLease, "its pod holds the lease "+Name(l.Ref))
				return
			}
		}
	}
}

func (c *Candidate) byAccount(accounts []account, groups []string) {
	for _, a := range accounts {
		if a.namespace == c.Ref.Namespace && a.name == c.Account {
			worth := worthRight
			if a.granted {
				worth = worthGrant
			}
			c.clue(worth, "its service account was given rights on "+kindsOf(groups)+", by "+Quote(a.role))
			return
		}
	}
}

func (c *Candidate) byHook(r *Run, hooks []Hook) {
	for _, h := range hooks {
		if h.Service != nil && r.serves(*h.Service, c.Workload) {
			c.clue(worthHook, "it serves the webhook "+Quote(h.Name)+" for this kind")
			return
		}
	}
}

func (c *Candidate) clue(worth int, why string) {
	c.score += worth
	c.Why = append(c.Why, why)
}

// of reports whether the lease is named after the finalizer's owner.
func (l Lease) of(names []string, domain string) bool {
	if slices.Contains(names, l.Ref.Name) {
		return true
	}
	_, of, dotted := strings.Cut(l.Ref.Name, ".") // controller-runtime's way: 8a3f.example.com
	return dotted && related(of, domain)
}

func leaseFor(leases []Lease, names []string, domain string) *Lease {
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
	for _, o := range Setters(u, finalizer) {
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

// related reports whether a domain is the other one, or below it.
func related(a, b string) bool {
	if !strings.Contains(a, ".") || !strings.Contains(b, ".") {
		return false
	}
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// notFound says where nothing was found.
func notFound(names, groups []string, accounts []account, hooks []Hook) []string {
	evidence := []string{"no Deployment, StatefulSet or DaemonSet" + called(names) + ", and no lease of " + Quote(groups[0])}
	if len(accounts) == 0 {
		return append(evidence, "no service account was given rights on "+kindsOf(groups)+" in particular")
	}
	for _, a := range accounts {
		evidence = append(evidence, fmt.Sprintf("service account %s -n %s was given rights on %s (%s), but no workload runs as it", Quote(a.name), Quote(a.namespace), kindsOf(groups), Quote(a.role)))
	}
	for _, h := range hooks {
		if h.Service != nil {
			evidence = append(evidence, "webhook "+Quote(h.Name)+" is served by service "+Quote(h.Service.Name)+" -n "+Quote(h.Service.Namespace)+", behind which no workload is")
		}
	}
	return Some(evidence, 5)
}

func kindsOf(groups []string) string { return "kinds of " + Quote(strings.Join(groups, " or ")) }

func called(names []string) string {
	if len(names) == 0 {
		return " is known to own it"
	}
	quotedNames := make([]string, len(names))
	for i, n := range names {
		quotedNames[i] = Quote(n)
	}
	return " is called " + strings.Join(quotedNames, " or ")
}

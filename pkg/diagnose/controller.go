package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Search is the result of a search for an object's controller.
type Search struct {
	Operator string
	// Workloads are the likely controllers. If there are several, they are equally likely.
	Workloads []Candidate
	Lease     *Lease
	Evidence  []string
	// Sure is set if everything that is needed could be read.
	Sure bool
	// Proven is set if enough is known about the controller to be sure of its absence.
	Proven bool
	// Suspects lists the workloads that may be the controller if nothing identifies it. Alive
	// describes a write that followed the deletion request, by a manager that set the finalizer.
	Suspects []Suspect
	Alive    string
}

// Candidate is a workload that may be the controller.
type Candidate struct {
	Workload
	Why []string
	// Lease is a Lease that a Pod of the workload holds or has held.
	Lease *Lease

	score int
}

// Likely reports whether there is any clue other than the right to write the object.
func (c Candidate) Likely() bool { return c.score >= worthGrant }

// The right to update is a weak clue, because many accounts have it. A webhook for the kind is weak
// too, because it may only enforce a policy.
const (
	worthName  = 4
	worthLease = 3
	worthGrant = 3
	worthHook  = 2
	worthRight = 1
	worthLabel = 1
)

// Controller finds the workload that runs an object's controller. If a finalizer is given, it finds
// the workload that removes the finalizer. It looks at field managers, well-known names, Leases,
// webhooks, RBAC rights and labels.
func (r *Run) Controller(u *unstructured.Unstructured, finalizer string) Search {
	t := r.traitsOf(u, finalizer)
	s := Search{Operator: t.operator, Sure: true}
	workloads, sure := r.Workloads()
	s.Sure = s.Sure && sure
	leases, sure := r.Leases()
	s.Sure = s.Sure && sure
	accounts, sure := r.accounts(t.groups)
	s.Sure = s.Sure && sure
	hooks := r.hooksOf(u)

	known := len(t.names) > 0 || slices.ContainsFunc(accounts, func(a account) bool { return a.right == mayFinalize })
	var found []Candidate
	for _, w := range workloads {
		c := Candidate{Workload: w}
		c.byName(t)
		c.byLease(leases, t)
		c.byAccount(accounts, t.groups)
		c.byHook(r, hooks)
		if !known { // Other parts of the application have the same labels.
			c.byLabel(t.definition)
		}
		if c.score > 0 {
			found = append(found, c)
		}
	}
	if len(found) == 0 { // The controller may be a bare Pod, or a Pod of a Job or of a custom resource.
		pods, sure := r.podsAs(accounts)
		s.Sure = s.Sure && sure
		for _, w := range pods {
			c := Candidate{Workload: w}
			c.byAccount(accounts, t.groups)
			found = append(found, c)
		}
	}
	s.Workloads = best(found)
	if len(s.Workloads) > 0 {
		return s
	}
	if s.Sure { // Otherwise, the controller may be among the objects that could not be read.
		s.Evidence = notFound(t, accounts, hooks)
	}
	if i := slices.IndexFunc(leases, func(l Lease) bool { return l.mayBelongTo(t) }); i >= 0 && leases[i].Stale(r.Now) {
		s.Evidence = append(s.Evidence, leases[i].String(r.Now))
	} else if i >= 0 {
		s.Lease = &leases[i]
	}
	s.Proven = len(t.names)+len(accounts) > 0 || t.operator != ""
	if finalizer == "" {
		return s
	}
	s.Alive = r.alive(u, finalizer)
	if !s.Proven {
		s.Suspects = r.suspects(u, finalizer)
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

func (c *Candidate) byName(t traits) {
	for _, n := range t.names {
		if c.Called(n.name) || slices.Contains(c.programs, n.name) {
			c.clue(worthName, "it is called "+text.Excerpt(n.name)+", like "+n.whose)
			return
		}
	}
}

func (c *Candidate) byLease(leases []Lease, t traits) {
	for _, l := range leases {
		if l.Ref.Namespace == c.Ref.Namespace && strings.HasPrefix(l.Holder, c.Ref.Name+"-") {
			c.Lease = &l
			if l.mayBelongTo(t) {
				c.clue(worthLease, "its Pod holds "+Name(l.Ref))
				return
			}
		}
	}
}

func (c *Candidate) byLabel(definition *unstructured.Unstructured) {
	if definition == nil {
		return
	}
	for _, label := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "app"} {
		value := definition.GetLabels()[label]
		if value == "" {
			continue
		}
		if c.own[label] == value {
			c.clue(worthLabel, "it has the same label as the kind's CRD: "+text.Excerpt(label+"="+value))
		}
		return
	}
}

func (c *Candidate) byAccount(accounts []account, groups []string) {
	for _, a := range accounts {
		if a.namespace == c.Ref.Namespace && a.name == c.Account {
			worth := worthRight
			if a.right == mayFinalize {
				worth = worthGrant
			}
			c.clue(worth, "its service account has rights on "+kindsOf(groups)+", from "+text.Excerpt(a.role))
			return
		}
	}
}

func (c *Candidate) byHook(r *Run, hooks []Hook) {
	for _, h := range hooks {
		if h.Service != nil && r.serves(*h.Service, c.Workload) {
			c.clue(worthHook, "it serves the webhook "+text.Excerpt(h.Name)+" for this kind")
			return
		}
	}
}

func (c *Candidate) clue(worth int, why string) {
	c.score += worth
	c.Why = append(c.Why, why)
}

// mayBelongTo reports whether a controller with these traits would use this name for its Lease.
func (l Lease) mayBelongTo(t traits) bool {
	if slices.ContainsFunc(t.names, func(n managerName) bool { return n.name == l.Ref.Name }) {
		return true
	}
	_, of, dotted := strings.Cut(l.Ref.Name, ".") // as controller-runtime names it: 8a3f.example.com
	return dotted && slices.ContainsFunc(t.domains, func(domain string) bool { return related(of, domain) })
}

func notFound(t traits, accounts []account, hooks []Hook) []string {
	groups := t.groups
	evidence := []string{"no Deployment, StatefulSet or DaemonSet" + called(t.names) + ", and no Lease is named after " + text.Excerpt(groups[0])}
	if len(accounts) == 0 {
		return append(evidence, "no service account has rights on "+kindsOf(groups)+" specifically")
	}
	for _, a := range accounts {
		evidence = append(evidence, fmt.Sprintf("service account %s -n %s has rights on %s (%s), but no workload runs as it", text.Excerpt(a.name), text.Excerpt(a.namespace), kindsOf(groups), text.Excerpt(a.role)))
	}
	for _, h := range hooks {
		if h.Service != nil {
			evidence = append(evidence, "webhook "+text.Excerpt(h.Name)+" is served by service "+text.Excerpt(h.Service.Name)+" -n "+text.Excerpt(h.Service.Namespace)+", which selects no Pods of a workload")
		}
	}
	return Some(evidence, 5)
}

func kindsOf(groups []string) string { return "kinds of " + text.Excerpt(strings.Join(groups, " or ")) }

func called(names []managerName) string {
	if len(names) == 0 {
		return " is known to handle it"
	}
	quotedNames := make([]string, len(names))
	for i, n := range names {
		quotedNames[i] = text.Excerpt(n.name)
	}
	return " is called " + strings.Join(quotedNames, " or ")
}

// Suspect is a workload that is allowed to write the object. It is not necessarily the one that
// removes the finalizer.
type Suspect struct {
	Workload
	// named is set if a container has the name of the manager that set the finalizer.
	role  string
	named bool
}

func (s Suspect) String() string {
	text := Name(s.Ref) + " is allowed to write it (" + text.Excerpt(s.role) + ")"
	if s.named {
		text += ", and one of its containers has the name of the manager that set the finalizer"
	}
	return text
}

func (r *Run) suspects(u *unstructured.Unstructured, finalizer string) []Suspect {
	writers := r.writers(u)
	workloads, _ := r.Workloads()
	var named, others []Suspect
	for _, w := range workloads {
		i := slices.IndexFunc(writers, func(a account) bool { return a.namespace == w.Ref.Namespace && a.name == w.Account })
		if i < 0 {
			continue
		}
		if slices.ContainsFunc(Setters(u, finalizer), func(o managedfields.Owner) bool {
			return generic(o.Manager) && w.Called(o.Manager)
		}) {
			named = append(named, Suspect{w, writers[i].role, true})
		} else {
			others = append(others, Suspect{w, writers[i].role, false})
		}
	}
	return append(named, others...)
}

func (r *Run) writers(u *unstructured.Unstructured) []account {
	kind := u.GroupVersionKind().GroupKind()
	served, _ := r.Kinds()
	i := slices.IndexFunc(served, func(k object.Kind) bool { return k.GVK.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	resource, namespace := served[i].Resource, u.GetNamespace()
	made := Once(r, fmt.Sprintf("writers %s %s", kind, namespace), func() result[account] {
		return r.readAccounts(func(rule rbacv1.PolicyRule) right {
			if !writes(rule) || !has(rule.APIGroups, kind.Group, "*") || !has(rule.Resources, resource, "*") {
				return none
			}
			return mayUpdate
		}, func(bound string) bool { return bound == namespace })
	})
	return made.items
}

// alive describes a write that followed the deletion request, by a manager that set the finalizer.
// It returns "" if there is no such write.
func (r *Run) alive(u *unstructured.Unstructured, finalizer string) string {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return ""
	}
	for _, o := range Setters(u, finalizer) {
		for _, e := range entries {
			if e.Manager == o.Manager && !tool(o.Manager) && e.Time.After(Since(u).Add(time.Second)) {
				return text.Excerpt(e.String()) + " last wrote to it " + Ago(r.Now.Sub(e.Time)) + " ago, after its deletion was requested"
			}
		}
	}
	return ""
}

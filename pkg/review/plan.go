// Package review represents the outcome of a run as a user reviews it. Fill a [Plan] with the
// events of a comparison. [Plan.Digest] identifies the plan, so that a later run can be limited to
// it.
package review

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Plan is the outcome of a run, object by object. The zero Plan is empty and safe for concurrent
// use.
type Plan struct {
	mu       sync.Mutex
	outcomes map[object.Key]Outcome
	// secrets contains outcomes with real values. Only their digest leaves the Plan.
	secrets map[object.Key]Outcome
	// known contains the names of the run's objects and the values of its Secrets. The run's own
	// vault also contains values of other objects.
	known     *redact.Vault
	unlearned []*unstructured.Unstructured
	// versions has the UID and the version of each live object.
	versions map[object.Key]string
	// reached has the objects of a reviewed plan that may be as it leaves them.
	reached map[object.Key]state
	// declared has the manifests of objects that the reviewed plan creates unchecked, as such outcomes.
	declared map[object.Key]Outcome
	// replaced has the UIDs of objects that have the name of a reviewed one.
	replaced  map[object.Key]types.UID
	contested bool
}

// Learn records the names of objects, the values of Secrets and the versions of live objects, even
// for objects that do not change.
func (p *Plan) Learn(objects ...*unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	for _, u := range objects {
		if u != nil && u.GetUID() != "" {
			p.versions[object.RefOf(u).Key()] = string(u.GetUID()) + " " + u.GetResourceVersion()
		}
		switch {
		case u == nil:
		case redact.IsSecret(object.RefOf(u)): // Learning a Secret takes 0.2 ms, so wait until something changes.
			p.unlearned = append(p.unlearned, u)
		default:
			p.known.Learn(u.Object)
		}
	}
}

func (p *Plan) begin() {
	if p.known == nil {
		p.known, p.versions = redact.NewVault(), map[object.Key]string{}
	}
}

// Name records the name of an object, which is no secret even if it is also the value of one. A digest shows
// whether a name is masked, so the plan must know the same names whenever it is compared: those of the input,
// and those of the objects that change.
func (p *Plan) Name(ref object.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	p.known.Ref(ref)
}

func (p *Plan) masked(text string) string {
	for _, u := range p.unlearned {
		p.known.Learn(u.Object)
	}
	p.unlearned = nil
	return p.known.Text(text)
}

// See adds an event to the plan. Warnings are not part of the plan, so an unchanged cluster yields
// the same plan.
func (p *Plan) See(e event.Event) {
	c, ok := e.(event.Compared)
	if !ok || c.Action == event.None || c.Action == event.Kept || c.Action == event.Unknown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contested = p.contested || slices.ContainsFunc(c.Changes, func(c managedfields.Change) bool { return c.Kind == managedfields.Contested })
	if p.outcomes == nil {
		p.outcomes = map[object.Key]Outcome{}
	}
	p.outcomes[c.Ref.Key()] = OutcomeOf(c)
	p.begin()
	p.known.Ref(c.Ref)
	for _, change := range c.Changes {
		p.nameOwners(change.Owners)
	}
	for _, change := range c.Ownership {
		p.nameOwners(change.Owners)
	}
	for _, manager := range c.Adopted {
		p.known.Name(manager)
	}
}

// nameOwners declares that the names of managers are no secrets, as the output does.
func (p *Plan) nameOwners(owners []managedfields.Owner) {
	for _, o := range owners {
		p.known.Name(o.Manager)
	}
}

// SeeSecret adds the outcome for a Secret with its real values. See receives the masked outcome.
func (p *Plan) SeeSecret(c event.Compared) {
	if c.Action == event.None || c.Action == event.Unknown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.secrets == nil {
		p.secrets = map[object.Key]Outcome{}
	}
	p.secrets[c.Ref.Key()] = OutcomeOf(c)
}

// Contested reports whether an object has a conflict.
func (p *Plan) Contested() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.contested
}

// Outcomes returns the outcomes of the objects that change. Their digests do not depend on values
// of Secrets.
func (p *Plan) Outcomes() map[object.Key]Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.maskedOutcomes()
}

func (p *Plan) maskedOutcomes() map[object.Key]Outcome {
	out := maps.Clone(p.outcomes)
	for key, o := range out {
		out[key] = p.digested(o, p.secrets)
	}
	return out
}

// digested adds the digests of an outcome. secrets has the outcomes for Secrets with real values. The caller
// holds the mutex.
func (p *Plan) digested(o Outcome, secrets map[object.Key]Outcome) Outcome {
	if whole, isSecret := secrets[o.Ref.Key()]; isSecret && whole.After != nil {
		// The masks of a recreated Secret depend on its former values, which a continued run lacks.
		_, o.After = redact.Pair(o.Ref, nil, whole.After)
	}
	head, content := o.head(), o.contentText()
	shown, shownContent := p.masked(head), p.masked(content)
	_, o.Secret = secrets[o.Ref.Key()]
	o.Secret = o.Secret || shown != head || shownContent != content
	if content != "" {
		o.content = hash(shownContent)
	}
	o.digest = objectDigest(shown, o.content)
	return o
}

package review

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Reach records the present state of an object of the reviewed plan: owned has our fields, with
// kind, namespace and name, and live is the object. A run that was cut may have left it as reviewed.
func (p *Plan) Reach(was Outcome, owned map[string]any, live *unstructured.Unstructured) {
	after, ok := was.reachedBy(owned, live)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reached == nil {
		p.reached = map[object.Key]state{}
	}
	p.reached[was.Ref.Key()] = state{after, owned}
}

// ReachGone records that a member that the reviewed plan deletes is gone.
func (p *Plan) ReachGone(ref object.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reached == nil {
		p.reached = map[object.Key]state{}
	}
	p.reached[ref.Key()] = state{}
}

// state is the state that a reviewed change leaves. after encodes the reviewed values.
type state struct {
	after string
	owned map[string]any
}

// reachedBy reports whether all reviewed values are in the object and belong to us. The content of
// a new object is compared later, because the values of all Secrets must be known for that.
func (o Outcome) reachedBy(owned map[string]any, live *unstructured.Unstructured) (after string, ok bool) {
	if o.Action == event.Create || o.Action == event.Recreate {
		return afterText(o.Ref, owned, nil), true
	}
	var values []Change
	for _, c := range o.Changes {
		path, err := fieldpath.ParsePath(c.Path)
		if err != nil {
			return "", false
		}
		ours, has := path.Get(owned)
		switch c.Kind {
		case managedfields.Contested:
			return "", false
		case managedfields.Removed:
			if _, there := path.Get(live.Object); there {
				return "", false
			}
		case managedfields.Released:
			if has {
				return "", false
			}
		default:
			// The values of Secrets are compared by their digest.
			if !has || !redact.IsSecret(o.Ref) && !masks(asText(c.To), asText(ours)) {
				return "", false
			}
			values = append(values, Change{Path: c.Path, To: ours})
		}
	}
	return afterText(o.Ref, nil, values), true
}

// afterOutcome encodes the values that an outcome leaves.
func (o Outcome) afterOutcome() string {
	if o.Action == event.Create || o.Action == event.Recreate {
		return afterText(o.Ref, o.After, nil)
	}
	var values []Change
	for _, c := range o.Changes {
		switch c.Kind {
		case managedfields.Contested, managedfields.Removed, managedfields.Released:
		default:
			values = append(values, Change{Path: c.Path, To: c.To})
		}
	}
	return afterText(o.Ref, nil, values)
}

func afterText(ref object.Ref, content map[string]any, values []Change) string {
	sortChanges(values)
	return asText([]any{ref.GVK.Group, ref.GVK.Kind, ref.Namespace, ref.Name, content, values})
}

// Continue compares the plan with a reviewed plan that a former run may have applied in part. done
// lists the objects that are as reviewed already; they are excluded from the differences.
// Unproven lists the Secrets that are still to change, if their former values cannot be compared
// with the reviewed ones.
func (p *Plan) Continue(was Document) (done []object.Ref, found []Difference, unproven []object.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.maskedOutcomes()
	rest := maps.Clone(was.Outcomes)
	for key, o := range was.Outcomes {
		if _, changes := now[key]; !changes && p.isReached(o) {
			done = append(done, o.Ref)
			delete(rest, key)
		}
	}
	slices.SortFunc(done, object.Ref.Compare)
	if found = Differences(rest, now); len(found) > 0 {
		return done, found, nil
	}
	return done, nil, p.unproven(was, now, done)
}

// isReached reports whether an object is as a reviewed outcome leaves it. The caller holds the
// mutex.
func (p *Plan) isReached(o Outcome) bool {
	s, known := p.reached[o.Ref.Key()]
	if !known || o.Action != event.Create && o.Action != event.Recreate {
		return known
	}
	content := s.owned
	if redact.IsSecret(o.Ref) {
		_, content = redact.Pair(o.Ref, nil, content)
	}
	return hash(p.masked(asText(content))) == o.content
}

// unproven returns the objects whose values of Secrets differ from the reviewed ones, or cannot be
// compared. An object that is done has lost its former values, so that the values of the others can
// be compared only together with those that the objects are to have.
func (p *Plan) unproven(was Document, now map[object.Key]Outcome, done []object.Ref) []object.Ref {
	if was.Values == "" {
		return nil
	}
	_, salt, _ := strings.Cut(was.Digest, ".")
	full, after := p.values(now, done, salt)
	if full+after == was.Values || full == was.Values[:min(len(full), len(was.Values))] {
		return nil
	}
	var refs []object.Ref
	for _, o := range now {
		if o.Secret && (o.Action != event.Create || !strings.HasSuffix(was.Values, after)) {
			refs = append(refs, o.Ref)
		}
	}
	if len(refs) == 0 && !strings.HasSuffix(was.Values, after) {
		refs = done
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

// values returns the slow digests of the values of Secrets: of all outcomes with the values that
// they replace, and of the values that they leave, also in the objects that are done. The caller
// holds the mutex.
func (p *Plan) values(outcomes map[object.Key]Outcome, done []object.Ref, salt string) (full, after string) {
	var texts, afters []string
	for key, o := range outcomes {
		if whole, isSecret := p.secrets[key]; isSecret {
			texts, afters = append(texts, whole.text()), append(afters, whole.afterOutcome())
			continue
		}
		if o.Secret {
			texts = append(texts, o.text())
		}
		if text := o.afterOutcome(); p.masked(text) != text {
			afters = append(afters, text)
		}
	}
	for _, ref := range done {
		if text := p.reached[ref.Key()].after; redact.IsSecret(ref) && text != "" || p.masked(text) != text {
			afters = append(afters, text)
		}
	}
	return derived(texts, salt), derived(afters, salt)
}

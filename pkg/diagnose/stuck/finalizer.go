package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// finalizers finds out for each finalizer of the object who is to remove it, and
// why that does not happen.
func (d *diagnosis) finalizers(u *unstructured.Unstructured) []finding {
	var found []finding
	for _, finalizer := range u.GetFinalizers() {
		refused := d.admission(u, finalizer)
		whose := d.whose(u, finalizer)
		if len(refused) > 0 { // Who should remove it does not wait, but is refused.
			whose = without(whose, rankSilent, rankWaiting)
		}
		found = append(append(found, refused...), whose...)
	}
	return found
}

func (d *diagnosis) whose(u *unstructured.Unstructured, finalizer string) []finding {
	switch finalizer {
	case "foregroundDeletion":
		return d.foreground(u)
	case "orphan":
		return d.orphan(u)
	case "kubernetes.io/pvc-protection":
		return d.claim(u, finalizer)
	case "kubernetes.io/pv-protection":
		return d.volume(u, finalizer)
	case "service.kubernetes.io/load-balancer-cleanup":
		return d.loadBalancer(u, finalizer)
	case "customresourcecleanup.apiextensions.k8s.io":
		return nil // The rules about definitions tell.
	}
	if waits, ok := builtIn(finalizer); ok {
		return d.builtIn(u, finalizer, waits)
	}
	return d.custom(u, finalizer)
}

func without(findings []finding, ranks ...rank) []finding {
	var left []finding
	for _, f := range findings {
		drop := false
		for _, r := range ranks {
			drop = drop || f.rank == r
		}
		if !drop {
			left = append(left, f)
		}
	}
	return left
}

// custom is about finalizers of whoever extends Kubernetes (edge case 60).
func (d *diagnosis) custom(u *unstructured.Unstructured, finalizer string) []finding {
	s := d.Controller(u, finalizer)
	if len(s.Workloads) == 0 {
		switch {
		case s.Lease != nil:
			return []finding{d.silentElsewhere(u, finalizer, s)}
		case s.Alive != "":
			return []finding{d.elsewhere(u, finalizer, s)}
		case !s.Sure:
			return []finding{d.unfound(u, finalizer, s)}
		case len(s.Suspects) > 0:
			return []finding{d.unproven(u, finalizer, s)}
		default:
			return []finding{d.gone(u, finalizer, s)}
		}
	}
	var found []finding
	for _, w := range s.Workloads {
		found = append(found, d.controller(u, finalizer, s, w))
	}
	return found
}

// gone: nothing in the cluster is known that would remove the finalizer.
func (d *diagnosis) gone(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	ref := object.RefOf(u)
	message := "nothing was found in this cluster that removes the finalizer " + diagnose.Quote(finalizer)
	if !s.Proven {
		message += "; a controller that runs outside of it would not be seen"
	}
	if s.Operator != "" {
		message += ", which is " + s.Operator + "'s: it is not installed"
	}
	return finding{rank: rankBroken, Cause: event.Cause{
		Code: FinalizerControllerGone, Message: message,
		Evidence: append(d.set(u, finalizer), s.Evidence...),
		Next:     removal(ref, finalizer),
		Risk: "what the finalizer was to clean up, in the cluster or outside, stays behind and has to be found by hand; " +
			"if you can, install its controller again instead, which then cleans up",
	}}
}

// unfound: who is to remove the finalizer is not known, for not all could be read.
func (d *diagnosis) unfound(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code:     FinalizerUnknown,
		Message:  "it waits for whoever removes the finalizer " + diagnose.Quote(finalizer) + "; who that is could not be found out, for lack of permission or of an answer",
		Evidence: append(d.set(u, finalizer), s.Evidence...),
		Next:     "ask who knows the finalizer " + diagnose.Word(finalizer) + " whether its controller runs",
	}}
}

// set tells who put the finalizer there, as far as managed fields know (edge case
// 60).
func (d *diagnosis) set(u *unstructured.Unstructured, finalizer string) []string {
	var evidence []string
	for _, o := range diagnose.Setters(u, finalizer) {
		text := "finalizer set by " + diagnose.Quote(o.String())
		if !o.Time.IsZero() {
			text += ", who last wrote " + diagnose.Ago(d.Now.Sub(o.Time)) + " ago"
		}
		evidence = append(evidence, text)
	}
	return append(evidence, d.deleted(u))
}

func (d *diagnosis) deleted(u *unstructured.Unstructured) string {
	if !diagnose.Terminating(u) {
		return "not deleted yet"
	}
	return "deleted " + diagnose.Ago(d.Now.Sub(diagnose.Since(u))) + " ago"
}

package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// custom explains a finalizer of an extension to Kubernetes (edge case 60).
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
			return []finding{d.controllerGone(u, finalizer, s)}
		}
	}
	var found []finding
	for _, w := range s.Workloads {
		found = append(found, d.controller(u, finalizer, s, w))
	}
	return found
}

func (d *diagnosis) controllerGone(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	message := "nothing in this cluster is known to remove the finalizer " + text.Excerpt(finalizer)
	if !s.Proven {
		message += "; a controller outside the cluster would not be seen"
	}
	if s.Operator != "" {
		message += "; it belongs to " + s.Operator + ", which is not installed"
	}
	cause := event.Cause{Code: FinalizerControllerGone, Message: message, Evidence: append(d.set(u, finalizer), s.Evidence...)}
	return finding{rank: rankBroken, Cause: removing(cause, u, finalizer,
		"whatever the finalizer should clean up, inside or outside the cluster, is left behind and must be found by hand; "+
			"if possible, reinstall its controller instead")}
}

func (d *diagnosis) unfound(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code:     FinalizerUnknown,
		Message:  "it waits for the finalizer " + text.Excerpt(finalizer) + " to be removed; its controller could not be determined, because some reads were forbidden or failed",
		Evidence: append(d.set(u, finalizer), s.Evidence...),
		Next:     "ask someone who knows the finalizer " + text.ShellQuote(finalizer) + " whether its controller is running",
	}}
}

func (d *diagnosis) controller(u *unstructured.Unstructured, finalizer string, s diagnose.Search, c diagnose.Candidate) finding {
	state := d.State(c.Workload)
	if state.Health != diagnose.Runs {
		return finding{rank: rankBroken, Cause: event.Cause{
			Code:      codeOf(state.Health),
			Message:   owner(c, finalizer) + ", " + state.How,
			Evidence:  append(append(state.Evidence, c.Why...), d.set(u, finalizer)...),
			Next:      state.Next,
			BlockedBy: c.Ref,
		}}
	}
	if f, ok := d.unauthorised(u, finalizer, c); ok {
		return f
	}
	f := d.silent(u, finalizer, c.Ref)
	f.Message = owner(c, finalizer) + ", is alive, but has not removed it in " + diagnose.Ago(d.Now.Sub(diagnose.Since(u)))
	f.Evidence = append(append(state.Evidence, c.Why...), d.set(u, finalizer)...)
	if c.Lease != nil {
		f.Evidence = append(f.Evidence, c.Lease.String(d.Now))
	}
	if s.Operator != "" {
		f.Evidence = append(f.Evidence, "the finalizer belongs to "+s.Operator)
	}
	return f
}

func (d *diagnosis) unauthorised(u *unstructured.Unstructured, finalizer string, c diagnose.Candidate) (finding, bool) {
	user := "system:serviceaccount:" + c.Ref.Namespace + ":" + c.Account
	mayUpdate, sure := d.Allowed(user, "update", object.RefOf(u))
	mayPatch, sureOfPatch := d.Allowed(user, "patch", object.RefOf(u))
	if !sure || !sureOfPatch || mayUpdate || mayPatch {
		return finding{}, false
	}
	ref := object.RefOf(u)
	return finding{rank: rankBroken, Cause: event.Cause{
		Code:      FinalizerControllerForbidden,
		Message:   owner(c, finalizer) + ", is not permitted to remove it",
		Evidence:  append([]string{"service account " + text.Excerpt(c.Account) + " -n " + text.Excerpt(c.Ref.Namespace) + " can neither update nor patch " + diagnose.Name(ref)}, c.Why...),
		Next:      command.KubectlAs("auth", "can-i") + " update " + diagnose.On(ref) + " --as=" + text.ShellQuote(user),
		BlockedBy: diagnose.RefOf("v1", "ServiceAccount", c.Ref.Namespace, c.Account),
	}}, true
}

func codeOf(h diagnose.Health) string {
	switch h {
	case diagnose.ScaledDown:
		return FinalizerControllerScaledDown
	case diagnose.Crashes:
		return FinalizerControllerCrashing
	default:
		return FinalizerControllerNotReady
	}
}

// If the right to update is the only clue, the workload might not be the finalizer's controller.
func owner(c diagnose.Candidate, finalizer string) string {
	who := "the controller of the finalizer "
	if !c.Likely() {
		who = "the probable controller of the finalizer "
	}
	return who + text.Excerpt(finalizer) + ", " + diagnose.Name(c.Ref)
}

func (d *diagnosis) silent(u *unstructured.Unstructured, finalizer string, by object.Ref) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code:      FinalizerControllerSilent,
		Message:   "the controller of the finalizer " + text.Excerpt(finalizer) + ", " + diagnose.Name(by) + ", is alive, but has not removed it in " + diagnose.Ago(d.Now.Sub(diagnose.Since(u))),
		Next:      command.Kubectl("logs") + " " + diagnose.On(by) + " --all-containers --since=1h | grep " + text.ShellQuote(u.GetName()),
		BlockedBy: by,
	}}
}

// silentElsewhere returns the finding for a controller that renews its Lease, but whose workload
// was not found.
func (d *diagnosis) silentElsewhere(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	f := d.silent(u, finalizer, object.RefOf(u))
	f.Message = "the controller of the finalizer " + text.Excerpt(finalizer) + " is alive, but does not remove the finalizer; its workload was not found and may run outside the cluster"
	f.Evidence = append(d.set(u, finalizer), s.Lease.String(d.Now))
	f.Next = "read the log of " + text.ShellQuote(s.Lease.Holder)
	f.BlockedBy = s.Lease.Ref
	return f
}

func (d *diagnosis) unproven(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	var all []string
	for _, one := range s.Suspects {
		all = append(all, one.String())
	}
	first := s.Suspects[0].Ref
	return finding{rank: rankSilent, Cause: event.Cause{
		Code: FinalizerUnknown,
		Message: "it waits for the finalizer " + text.Excerpt(finalizer) + " to be removed; nothing identifies its controller: " +
			text.Count(len(all), "workload") + " in the cluster could be the controller, or it may run outside the cluster",
		Evidence: append(append(d.set(u, finalizer), s.Evidence...), diagnose.Some(all, 4)...),
		Next:     command.Kubectl("logs") + " " + diagnose.On(first) + " --all-containers --since=1h | grep " + text.ShellQuote(u.GetName()),
	}}
}

// elsewhere returns the finding for an active manager whose workload was not found.
func (d *diagnosis) elsewhere(u *unstructured.Unstructured, finalizer string, s diagnose.Search) finding {
	return finding{rank: rankSilent, Cause: event.Cause{
		Code: FinalizerUnknown,
		Message: "it waits for the finalizer " + text.Excerpt(finalizer) + " to be removed; the manager that set it is active, but no workload in this cluster " +
			"is known to handle it: its controller may run elsewhere",
		Evidence: append(append(d.set(u, finalizer), s.Alive), s.Evidence...),
		Next:     "ask someone who knows the finalizer " + text.ShellQuote(finalizer) + " where its controller runs",
	}}
}

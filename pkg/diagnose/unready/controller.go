package unready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// controller says of a cause what is known of the controller that should act, and
// whether it is alive.
func (v *view) controller(u *unstructured.Unstructured, c event.Cause) finding {
	f := finding{Cause: c, rank: root}
	manager := diagnose.StatusManager(u)
	if manager != "" {
		f.Evidence = append(f.Evidence, "its status is written by "+clean(manager))
	}
	if manager == "kube-controller-manager" || strings.HasSuffix(u.GroupVersionKind().Group, ".k8s.io") {
		return f // It is part of the control plane, mostly no workload.
	}
	s := v.Controller(u, "")
	for _, w := range s.Workloads {
		if state := v.State(w.Workload); state.Health != diagnose.Runs {
			return down(f, w, state)
		}
	}
	switch {
	case len(s.Workloads) > 0:
		return alive(f, s.Workloads[0])
	case s.Lease != nil:
		f.BlockedBy = s.Lease.Ref
		f.Evidence = append(f.Evidence, s.Lease.String(v.Now), "the workload of its controller was not found; it may run outside the cluster")
		return f
	case f.Code == "NoController":
		f.Message += "; is one installed, and does it look at this namespace?"
	}
	if _, sure := v.Workloads(); !sure {
		f.Evidence = append(f.Evidence, "whether its controller runs is unknown: Deployments may not be listed")
	} else if !s.Sure {
		f.Evidence = append(f.Evidence, "whether its controller runs is unknown: not all that would tell may be listed")
	} else if manager != "" {
		f.Evidence = append(f.Evidence, "no Deployment or StatefulSet seems to be "+clean(manager))
	}
	return f
}

func alive(f finding, w diagnose.Candidate) finding {
	f.BlockedBy = w.Ref
	f.Evidence = append(slices.Clip(f.Evidence), "its controller is probably "+name(w.Ref)+", which is ready")
	f.Next = kubectl(w.Ref.Namespace, "logs", w.Ref.Resource(), "--all-containers", "--tail=100")
	return f
}

// down says that the controller does not run.
func down(f finding, w diagnose.Candidate, state diagnose.State) finding {
	f.Code, f.BlockedBy = "ControllerDown", w.Ref
	f.Message += ": the controller, " + name(w.Ref) + ", " + state.How
	f.Evidence = slices.Clip(f.Evidence)
	switch state.Health {
	case diagnose.ScaledDown:
		f.Evidence = append(f.Evidence, name(w.Ref)+" has 0 replicas")
		f.Next = kubectl(w.Ref.Namespace, "scale", w.Ref.Resource(), "--replicas=1")
		f.Risk = "somebody may have stopped it on purpose; it acts on all its objects once it runs"
	case diagnose.Crashes:
		f.Evidence = append(f.Evidence, state.Evidence...)
		f.Next = state.Next
	default:
		f.Evidence = append(f.Evidence, name(w.Ref)+" has no Pod that is ready")
		f.Next = describe(w.Ref)
	}
	return f
}

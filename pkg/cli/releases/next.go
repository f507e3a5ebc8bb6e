package releases

import (
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// isAutoscaled reports whether an autoscaler owns a field.
func isAutoscaled(c managedfields.Conflict) bool { return slices.ContainsFunc(c.Owners, isAutoscaler) }

// isAutoscaler reports whether an owner is an autoscaler. Autoscalers write through the scale subresource, as do
// kubectl scale and k9s.
func isAutoscaler(o managedfields.Owner) bool {
	return o.Subresource == "scale" && !exclusive.IsClient(o.Manager)
}

// scalers returns the autoscalers that set replicas of the release, by manager.
func (r *release) scalers() map[string]bool {
	out := map[string]bool{}
	for _, p := range r.pieces {
		for _, c := range p.conflicts {
			for _, o := range c.Owners {
				if isAutoscaler(o) {
					out[o.Manager] = true
				}
			}
		}
	}
	return out
}

// unscale returns how to leave the replicas to an autoscaler. If give took them, the autoscaler would set them
// again, and the upgrade after the next one would conflict. A client-side upgrade resets a field that leaves the
// manifest to its default, whoever owns it.
func (r *release) unscale(ref object.Ref, path fieldpath.Path) string {
	line := "remove " + path.String() + " of " + ref.String() + " from the chart, often by a value such as autoscaling.enabled"
	if !r.out.ServerSide {
		line += ", and upgrade with --server-side=true: a client-side upgrade would reset the replicas"
	}
	return line
}

// settles reports whether give settles all conflicts in an object.
func (r *release) settles(p *piece, contested []managedfields.Conflict) bool {
	entries, err := managedfields.Entries(p.live)
	if err != nil {
		return false
	}
	if len(entries) == 0 {
		return true // give itself creates the entry before-first-apply.
	}
	w := transfer.Wish{To: r.out.Manager, Mode: transfer.Move, As: r.as(), Declared: predict.WithoutStringData(p.Declared).Object}
	for _, c := range contested {
		for _, o := range c.Owners {
			w.From = append(w.From, o.Manager)
		}
	}
	done, err := transfer.Give(entries, w)
	if err != nil {
		return false
	}
	for _, c := range contested {
		for _, o := range managedfields.HoldersOf(done.Entries, c.Path) {
			if settled := o.Is(r.out.Manager) || r.migrates && r.isOwn(o); !settled {
				return false
			}
		}
	}
	return true
}

// as returns the operation with which give makes Helm the owner.
func (r *release) as() string {
	if r.Applies() {
		return managedfields.Apply
	}
	return managedfields.Update
}

// give returns the command that moves fields from their owners to the field manager of the release: those at some
// paths, or all that its manifest sets.
func (r *release) give(owners, paths map[string]bool) string {
	var from []string
	for _, o := range slices.Sorted(maps.Keys(owners)) {
		from = append(from, text.ShellQuote(o))
	}
	line := command.Kubectl("k8sconnect", "give") + " --helm-release=" + text.ShellQuote(r.Namespace+"/"+r.Name)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		line += " " + text.ShellQuote(p)
	}
	line += " --from=" + strings.Join(from, ",")
	if r.out.Manager != inventory.Manager {
		line += " --to=" + text.ShellQuote(r.out.Manager)
	}
	if r.out.Twice {
		line = "HELM_DRIVER=" + r.out.Driver + " " + line
	}
	if r.chart != "" {
		line += " --" + helmrelease.ChartOutputFlag + "=" + text.ShellQuote(r.chart)
	}
	return line
}

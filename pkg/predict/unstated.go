package predict

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// unstated explains a refusal for which there is a field that the manifest does not state, and
// that stays because others own it. The server may name that field, what is beside it (the
// valueFrom of a variable that still has a value), or what is around it. Leftovers of the server
// itself are not explained: removing them is our job.
//
// The owner is named only if the apply would be accepted with what that owner holds adopted.
func (p Predictor) unstated(ctx context.Context, server Server, in *Prediction, causes []metav1.StatusCause) string {
	for left, names := range p.leftNear(in, causes) {
		if p.acceptedIfAdopted(ctx, server, in, names) {
			return p.leftInWords(in, left, names)
		}
	}
	return ""
}

// leftNear yields what others hold near each of the causes of a refusal, and the manifest does
// not state, with the managers that hold it: at the field that the server names, and beside it.
func (p Predictor) leftNear(in *Prediction, causes []metav1.StatusCause) iter.Seq2[[]fieldpath.Path, []string] {
	return func(yield func([]fieldpath.Path, []string) bool) {
		entries, err := managedfields.Entries(in.Live)
		if err != nil {
			return
		}
		others := slices.DeleteFunc(managedfields.Others(entries, p.Manager), func(e managedfields.Entry) bool { return e.Subresource != "" })
		for _, cause := range causes {
			path, err := fieldpath.ParsePath("." + cause.Field)
			if err != nil || len(path) == 0 {
				continue
			}
			if key, ok := path.ByKey(in.Live.Object); ok {
				path = key
			} else if key, ok := path.ByKey(in.Body.Object); ok {
				path = key
			}
			for n := len(path); n > 0 && n >= len(path)-1; n-- {
				if left, names := in.leftOf(others, path[:n]); len(left) > 0 && !yield(left, names) {
					return
				}
			}
		}
	}
}

// leftOf returns what others hold at a path or below it, and the manifest does not state, with
// the managers that hold it.
func (in *Prediction) leftOf(others []managedfields.Entry, near fieldpath.Path) (left []fieldpath.Path, names []string) {
	found := fieldpath.NewSet()
	for _, e := range others {
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			_, there := p.Get(in.Live.Object)
			_, stated := p.Get(in.Body.Object)
			if !there || stated || !p.HasPrefix(near) {
				return
			}
			if names = append(names, e.Manager); !fieldpath.Has(found, p) {
				fieldpath.Insert(found, p.Clone())
				left = append(left, p.Clone())
			}
		})
	}
	slices.Sort(names)
	return left, slices.Compact(names)
}

// acceptedIfAdopted reports whether the server would accept the apply if what the managers hold
// were adopted.
func (p Predictor) acceptedIfAdopted(ctx context.Context, server Server, in *Prediction, names []string) bool {
	p.AdoptFrom.Always = slices.Concat(p.AdoptFrom.Always, names)
	p.OnDecision = nil
	with, err := p.Evaluate(in.Item, in.Live)
	return err == nil && p.Ask(ctx, server, &with) == nil
}

// leftInWords names what is left, its owners, and the way out.
func (p Predictor) leftInWords(in *Prediction, left []fieldpath.Path, names []string) string {
	const most = 3
	paths := make([]string, 0, most)
	for _, path := range left[:min(len(left), most)] {
		paths = append(paths, path.String())
	}
	what, it := strings.Join(paths, ", "), "it"
	if more := len(left) - most; more > 0 {
		what += " and " + text.Count(more, "more field")
	}
	is, stays, goes := "is", "stays", "goes"
	if len(left) > 1 {
		is, stays, goes, it = "are", "stay", "go", "them"
	}
	owns := "owns"
	if len(names) > 1 {
		owns = "own"
	}
	return fmt.Sprintf("%s %s not in the manifest, and %s because %s %s %s; %s makes %s yours, so that %s %s, or remove %s by hand",
		what, is, stays, strings.Join(names, " and "), owns, it, p.toOwn(in, left, names), it, pronoun(it), goes, it)
}

// toOwn is the flag or the command that makes the paths ours, which the managers own. All that a
// tool has applied is adopted; of a person's fields, these alone are given.
func (p Predictor) toOwn(in *Prediction, paths []fieldpath.Path, names []string) string {
	if !slices.ContainsFunc(names, managedfields.IsPerson) {
		return "--adopt-from=" + strings.Join(names, ",")
	}
	words := []string{command.Kubectl("k8sconnect", "give"), in.Item.Resource()}
	for _, path := range paths {
		words = append(words, text.ShellQuote(path.String()))
	}
	if ns := in.Item.Namespace; ns != "" {
		words = append(words, "-n", ns)
	}
	return strings.Join(append(words, "--from="+text.ShellQuote(strings.Join(names, ",")), "--to="+text.ShellQuote(p.Manager)), " ")
}

func pronoun(it string) string {
	if it == "them" {
		return "they"
	}
	return it
}

package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// said returns a condition as evidence.
func said(c object.Condition) string { return text.Excerpt(c.Reason + ": " + c.Message) }

// removal returns the command that removes one finalizer.
func removal(ref object.Ref, finalizer string) string {
	return command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(ref) + " --remove-finalizer=" + text.ShellQuote(finalizer)
}

// set says who put the finalizer there, as far as managed fields show (edge case
// 60).
func (d *diagnosis) set(u *unstructured.Unstructured, finalizer string) []string {
	var evidence []string
	for _, o := range diagnose.Setters(u, finalizer) {
		text := "finalizer set by " + text.Excerpt(o.String())
		if !o.Time.IsZero() {
			text += ", which last wrote " + diagnose.Ago(d.Now.Sub(o.Time)) + " ago"
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

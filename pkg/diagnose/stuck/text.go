package stuck

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// said is a condition as evidence.
func said(c diagnose.Condition) string { return diagnose.Quote(c.Reason + ": " + c.Message) }

// removal is the command that removes one finalizer.
func removal(ref object.Ref, finalizer string) string {
	return command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(ref) + " --remove-finalizer=" + diagnose.Word(finalizer)
}

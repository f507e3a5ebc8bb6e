package phrase

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Name names an object, fit for a terminal.
func Name(ref object.Ref) string { return text.Printable(ref.String()) }

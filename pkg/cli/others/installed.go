package others

import (
	"context"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Absent returns a function that reports whether the Helm release of a claim is not installed; see
// [helmrelease.Absent].
func Absent(ctx context.Context, reader helmrelease.MetadataReader) func(applyset.Claim) bool {
	return func(claim applyset.Claim) bool {
		namespace, name, named := strings.Cut(claim.Name, "/")
		return claim.Of == "Helm release" && named && helmrelease.Absent(ctx, reader, inventory.Release{Namespace: namespace, Name: name})
	}
}

// marked describes objects with the marks of an owner that does not exist any more.
func marked(claim applyset.Claim, names []string) string {
	const shown = 3
	if len(names) == 1 {
		return names[0] + " carries the marks of " + claim.String() + ", which is not installed"
	}
	return text.Count(len(names), "object") + " carry the marks of " + claim.String() + ", which is not installed: " + text.List(names, shown)
}

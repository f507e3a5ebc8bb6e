package cluster

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/kinds"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
)

// The errors of the rooms below have the names under which callers of a Client know them.

// UnreachableError says that the server was away for longer than we were to wait for it.
type UnreachableError = request.UnreachableError

// NoKindError says that the server does not serve a kind.
type NoKindError = kinds.NoKindError

// NoTypeError says that the server serves nothing by the name of a type.
type NoTypeError = kinds.NoTypeError

// UntoldError says that the server does not say what it serves.
type UntoldError = kinds.UntoldError

// UntoldKindError says that the server behind the API of a kind does not answer.
type UntoldKindError = kinds.UntoldKindError

package cluster

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/kinds"

// The errors about kinds have the names under which callers of a Client know them.

// NoKindError says that the server does not serve a kind.
type NoKindError = kinds.NoKindError

// NoTypeError says that the server serves nothing by the name of a type.
type NoTypeError = kinds.NoTypeError

// UntoldError says that the server does not say what it serves.
type UntoldError = kinds.UntoldError

// UntoldKindError says that the server behind the API of a kind does not answer.
type UntoldKindError = kinds.UntoldKindError

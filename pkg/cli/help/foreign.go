package help

import (
	"errors"

	"github.com/spf13/pflag"
)

// ForeignHint says what to do instead of a flag that kubectl has and we have not;
// empty where the error is about something else.
func ForeignHint(err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	switch unknown.GetSpecifiedName() {
	case "force-conflicts":
		return "--take=all takes every contested field, --take=PATH one of them"
	case "server-side":
		return "leave it out: what is asked is always asked of the server"
	case "interactive":
		return "--dry-run=server shows what would be deleted; nothing is asked one by one"
	case "raw":
		return "kubectl delete --raw sends a request to a path of the API server; no object is named by it"
	case "prune", "prune-allowlist", "applyset":
		return "nothing is deleted because it left the manifests: name it to kubectl k8sconnect delete, as TYPE/NAME"
	case "wait":
		return "apply --wait waits for what it applied; for the rest, see: kubectl k8sconnect wait"
	case "force":
		return "no object is deleted to be created again: kubectl delete does the first half"
	case "version":
		return "see: kubectl k8sconnect version"
	default:
		return ""
	}
}

package help

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
)

// ForeignVerb says what replaces a verb of kubectl or another tool that we lack; empty for any
// other word.
func ForeignVerb(word string) string {
	switch word {
	case "get", "describe", "list":
		return command.Kubectl("get") + " and " + command.Kubectl("describe") + " read objects; here, owners shows who owns their fields, and sets lists sets"
	case "rollback", "undo", "rollout":
		return command.Kubectl("k8sconnect", "sets", "rollback", "NAME") + " applies an earlier run of a set again; apply --atomic rolls back a run that fails"
	case "create", "replace", "patch", "edit":
		return command.Kubectl("k8sconnect", "apply", "-f", "FILE") + " creates and changes objects"
	case "prune":
		return command.Kubectl("k8sconnect", "apply", "-f", "DIR", "--apply-set=NAME", "--prune")
	case "status", "ready":
		return command.Kubectl("k8sconnect", "wait", "TYPE/NAME", "--timeout=0") + " says whether an object is ready, and what it lacks"
	default:
		return ""
	}
}

// ForeignHint says what replaces a flag of kubectl that we lack; empty if the error is about
// something else.
func ForeignHint(err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	switch unknown.GetSpecifiedName() {
	case "force-conflicts":
		return "--take=all takes every contested field, --take=PATH one of them"
	case "server-side":
		return "leave it out: the server is always asked"
	case "interactive":
		return "--dry-run=server shows what would be deleted; there are no prompts for single objects"
	case "overwrite":
		return "leave it out: --take=all takes every contested field, --yield=PATH leaves one as it is"
	case "all":
		return "every object in the input is meant; delete and wait have --all for all objects of a type"
	case "grace-period":
		return command.Kubectl("k8sconnect", "delete", "--grace-period=SECONDS") + "; apply deletes only objects that are pruned or recreated"
	case "template":
		return "-o jsonpath=TEMPLATE, or -o json with jq"
	case "show-managed-fields":
		return command.Kubectl("k8sconnect", "owners") + " shows each field with its owner; " + command.Kubectl("get", "--show-managed-fields") + " shows them as they are stored"
	case "subresource":
		return "subresources are not applied here; kubectl apply --server-side --subresource=status does that"
	case "enable-helm", "load-restrictor", "helm-command":
		return "kubectl kustomize --" + unknown.GetSpecifiedName() + " … DIR | " + command.Kubectl("k8sconnect", "apply", "-f", "-")
	case "raw":
		return "kubectl delete --raw sends a request to a path of the API server; no object is named by it"
	case "prune-allowlist":
		return "--apply-set=NAME --prune deletes what left the set, of every kind; --prune-allow=KIND adds the protected ones"
	case "prune", "applyset":
		return "sets belong to apply and diff: --apply-set=NAME --prune"
	case "wait":
		return "apply --wait waits for what it applied; for the rest, see: kubectl k8sconnect wait"
	case "force":
		return "--recreate=KIND[/NAME] deletes an object and creates it anew, where a field of it cannot be changed; --take=all takes contested fields"
	case "dry-run":
		return "diff, owners, stuck and wait change nothing; " + command.Kubectl("k8sconnect", "diff") + " shows what apply would change"
	case "readiness":
		return "readiness: FILE in k8sconnect.yaml, beside the input or named by --config"
	case "explain-rules":
		return "-v 1 says which flag, annotation or rule decided which path"
	case "version":
		return "see: kubectl k8sconnect version"
	default:
		return ""
	}
}

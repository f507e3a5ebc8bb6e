package help

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
)

// ForeignVerb returns the replacement for a verb of kubectl or another tool; empty for any other
// word. rest are the arguments of the verb.
func ForeignVerb(word string, rest ...string) string {
	if word == "rollout" {
		return rollout(rest)
	}
	switch word {
	case "get", "describe", "list":
		return command.Kubectl("get") + " and " + command.Kubectl("describe") + " read objects; k8sconnect owners shows who owns their fields, and k8sconnect sets lists sets"
	case "undo":
		return rollout([]string{word})
	case "rollback":
		return command.Kubectl("k8sconnect", "sets", "rollback", "NAME") + " applies an earlier run of a set again; apply --atomic rolls back a run that fails"
	case "create", "replace", "patch", "edit":
		return command.Kubectl("k8sconnect", "apply", "-f", "FILE") + " creates and changes objects"
	case "prune":
		return command.Kubectl("k8sconnect", "apply", "-f", "DIR", "--apply-set=NAME", "--prune")
	case "plan", "preview":
		return command.Kubectl("k8sconnect", "diff", "-f", "FILE") + " shows what apply would change"
	case "explain":
		return command.Kubectl("explain", "TYPE") + " describes fields; k8sconnect wait --explain-ready=KIND prints when objects are ready"
	case "logs":
		return command.Kubectl("logs", "TYPE/NAME") + " prints logs; wait --logs=20 and apply --wait --logs=20 show the last lines of a container that fails"
	case "blame":
		return command.Kubectl("k8sconnect", "owners", "TYPE/NAME") + " shows each field with its owners"
	case "destroy", "uninstall", "rm":
		return command.Kubectl("k8sconnect", "delete", "-f", "FILE") + " deletes objects, and sets delete NAME a whole set"
	case "events":
		return command.Kubectl("events") + " lists events; k8sconnect unready and wait show those that explain a problem"
	case "watch":
		return command.Kubectl("k8sconnect", "wait", "TYPE/NAME") + " follows an object until it is ready"
	case "status", "ready":
		return command.Kubectl("k8sconnect", "wait", "TYPE/NAME", "--timeout=0") + " shows whether an object is ready and, if not, why"
	default:
		return ""
	}
}

// rollout returns the replacement for a subcommand of kubectl rollout.
func rollout(rest []string) string {
	word := ""
	if len(rest) > 0 {
		word = rest[0]
	}
	switch word {
	case "status":
		return ForeignVerb("status")
	case "history":
		return command.Kubectl("k8sconnect", "history", "TYPE/NAME") + " shows each revision with its reason and its writer"
	case "undo":
		return command.Kubectl("rollout", "undo", "TYPE/NAME") + " goes back to an earlier template; k8sconnect sets rollback NAME applies an earlier run of a set again"
	case "pause", "restart", "resume":
		return command.Kubectl("rollout", word, "TYPE/NAME") + " does it; k8sconnect wait TYPE/NAME follows the rollout"
	default:
		return command.Kubectl("rollout") + " manages rollouts; k8sconnect wait follows one, and k8sconnect history explains it"
	}
}

// ForeignHint returns the replacement for a kubectl flag; empty for any other error.
func ForeignHint(err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	switch unknown.GetSpecifiedName() {
	case "w", "watch":
		return "leave it out: wait and delete follow the objects by themselves, and fights watches for the time of --for"
	case "force-conflicts":
		return "--take=all takes every contested field; --take=PATH takes one"
	case "server-side":
		return "leave it out: apply is always server-side"
	case "interactive":
		return "--dry-run=server shows what would be deleted; there are no prompts for single objects"
	case "overwrite":
		return "leave it out: --take=all takes every contested field, and --yield=PATH leaves one unchanged"
	case "all":
		return "apply and diff always use every object in the input; delete and wait have --all for all objects of a type"
	case "grace-period":
		return command.Kubectl("k8sconnect", "delete", "--grace-period=SECONDS") + "; apply deletes only objects that are pruned or recreated"
	case "template":
		return "-o jsonpath=TEMPLATE, or -o json with jq"
	case "show-managed-fields":
		return command.Kubectl("k8sconnect", "owners") + " shows each field with its owner; " + command.Kubectl("get", "--show-managed-fields") + " shows the managed fields as they are stored"
	case "subresource":
		return "subresources are not applied here; kubectl apply --server-side --subresource=status does that"
	case "enable-helm", "load-restrictor", "helm-command":
		return "kubectl kustomize --" + unknown.GetSpecifiedName() + " … DIR | " + command.Kubectl("k8sconnect", "apply", "-f", "-")
	case "raw":
		return "use kubectl delete --raw, which sends a request to a path of the API server"
	case "prune-allowlist":
		return "--apply-set=NAME --prune deletes members that are no longer in the input; --prune-allow=KIND prunes a protected kind too"
	case "prune", "applyset":
		return "use apply or diff with a set: --apply-set=NAME --prune"
	case "wait":
		return "apply --wait waits for what it applied; for the rest, see: kubectl k8sconnect wait"
	case "force":
		return "--recreate=KIND[/NAME] deletes and recreates an object if a field cannot be changed; --take=all takes contested fields"
	case "dry-run":
		return "diff, owners, stuck and wait change nothing; " + command.Kubectl("k8sconnect", "diff") + " shows what apply would change"
	case "readiness":
		return "set readiness: FILE in k8sconnect.yaml, which is next to the input or named with --config"
	case "explain-rules":
		return "-v 1 shows the flag, annotation or rule that decided each path"
	case "version":
		return "see: kubectl k8sconnect version"
	default:
		return ""
	}
}

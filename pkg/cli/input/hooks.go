package input

import (
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

// hooksOf reads --helm-hooks. A verb that has no such flag leaves hooks out.
func hooksOf(text string) (manifest.Hooks, error) {
	switch text {
	case "skip", "":
		return manifest.HooksSkip, nil
	case "apply":
		return manifest.HooksApply, nil
	case "error":
		return manifest.HooksError, nil
	default:
		return "", fmt.Errorf("--helm-hooks must be skip, apply or error, not %q", text)
	}
}

// hooksLeftOut reports the hooks that are not applied.
func hooksLeftOut(hooks []manifest.Hook) event.HooksLeftOut {
	var told event.HooksLeftOut
	for _, h := range hooks {
		told.Hooks = append(told.Hooks, event.Hook{Ref: h.Ref, Source: h.Source, On: h.On})
	}
	if slices.ContainsFunc(hooks, manifest.Hook.Applicable) {
		told.Hint = manifest.ApplyHooksHint
	}
	return told
}

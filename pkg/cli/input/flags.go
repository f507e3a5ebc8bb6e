// Package input turns the flags of verbs that read manifests into manifests, a plan and a
// predictor.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Flags are the flags of verbs that read manifests.
type Flags struct {
	Filenames      []string
	Recursive      bool
	Kustomize      string
	Selector       string
	skipNonObjects bool
	skipInvalid    bool
	helmHooks      string
	duplicates     string
}

// Options are the parsed flags, and the manifests once they are read.
type Options struct {
	Files manifest.Options
	// typed means that the user types the manifests in a terminal, so nothing is printed while they
	// are read.
	typed bool
	// Offline means that the verb sends no requests.
	Offline bool
	// Prefetch lets Plan start reading objects early. It must be off if the objects could change
	// before they are used.
	Prefetch   bool
	prefetched *prefetched
	Scope      plan.Options
	Manifests  []object.Manifest
	warnings   []manifest.Warning
	invalid    []error
	unselected []object.Ref
	hooks      []manifest.Hook
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	f.AddFiles(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.skipInvalid, "skip-invalid", false,
		"Skip (and list) invalid or duplicate objects, process the rest, and exit with 1")
	flags.StringVar(&f.duplicates, "duplicates", "error",
		"If an object is in the input twice with different content: error, or last (use the last one, as kubectl does)")
	flags.StringVar(&f.helmHooks, "helm-hooks", "skip",
		"Hooks in a rendered Helm chart: skip (and list), apply (as objects) or error")
	help.Words(cmd, "helm-hooks", "skip", "apply", "error")
	help.Words(cmd, "duplicates", "error", "last")
}

// AddFiles adds the flags that select manifests.
func (f *Flags) AddFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.Filenames, "filename", "f", nil, "File, folder or URL with manifests; - is standard input. Repeatable")
	flags.BoolVarP(&f.Recursive, "recursive", "R", false, "Also read the subfolders of -f")
	flags.StringVarP(&f.Kustomize, "kustomize", "k", "", "Kustomization directory")
	flags.StringVarP(&f.Selector, "selector", "l", "", "Label selector, such as app=web,tier!=cache")
	flags.BoolVar(&f.skipNonObjects, "skip-non-objects", false,
		"Skip (and list) files in a folder that contain no Kubernetes object")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("kustomize")
}

// ToOptions parses the flags.
func (f *Flags) ToOptions(streams genericiooptions.IOStreams) (Options, error) {
	if len(f.Filenames) == 0 && f.Kustomize == "" {
		return Options{}, errors.New("no input: use -f FILENAME or -k DIRECTORY")
	}
	hooks, err := hooksOf(f.helmHooks)
	if !slices.Contains([]string{"", "error", "last"}, f.duplicates) {
		err = errors.Join(err, fmt.Errorf("--duplicates must be error or last, not %q", f.duplicates))
	}
	return Options{
		Files: manifest.Options{
			Filenames: filenames(f.Filenames), Recursive: f.Recursive, Kustomize: f.Kustomize,
			Selector: f.Selector, SkipNonObjects: f.skipNonObjects, SkipInvalid: f.skipInvalid, Hooks: hooks, In: streams.In,
		},
		Scope: plan.Options{SkipInvalid: f.skipInvalid, LastWins: f.duplicates == "last"},
		typed: slices.Contains(f.Filenames, "-") && verb.IsTerminal(streams.In),
	}, err
}

// Of returns options for the manifests in the given text, which may be empty.
func Of(text []byte) Options {
	return Options{Files: manifest.Options{
		Filenames: []string{"-"}, In: bytes.NewReader(text), Hooks: manifest.HooksApply, Empty: true,
	}}
}

// filenames splits the values of -f at commas, as kubectl does, except URLs and names of existing
// files.
func filenames(given []string) []string {
	var all []string
	for _, name := range given {
		_, err := os.Stat(name)
		if err == nil || strings.Contains(name, "://") && !strings.Contains(name, ",http") {
			all = append(all, name)
			continue
		}
		all = append(all, strings.Split(name, ",")...)
	}
	return all
}

// hooksOf parses --helm-hooks. Hooks are skipped if the text is empty, as it is for a verb without
// the flag.
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

func hooksLeftOut(hooks []manifest.Hook) event.HooksLeftOut {
	var reported event.HooksLeftOut
	for _, h := range hooks {
		reported.Hooks = append(reported.Hooks, event.Hook{Ref: h.Ref, Source: h.Source, On: h.On})
	}
	if slices.ContainsFunc(hooks, manifest.Hook.Applicable) {
		reported.Hint = manifest.ApplyHooksHint
	}
	return reported
}

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

// Options is the meaning of those flags.
type Options struct {
	Files manifest.Options
	// typed: the user types the manifests on a terminal, and no output may interrupt
	// that.
	typed bool
	// Offline: the verb asks no server.
	Offline bool
	// Prefetch lets Plan begin to read objects before it returns: not where what was read may
	// be outdated by then, as where a lock is waited for in between.
	Prefetch   bool
	prefetched *prefetched // nil if nothing was begun
	Scope      plan.Options
	Manifests  []object.Manifest
	warnings   []manifest.Warning
	// invalid holds the faults of objects that --skip-invalid left out.
	invalid []error
	// unselected are the objects that -l left out.
	unselected []object.Ref
	// hooks are those of Helm that were left out.
	hooks []manifest.Hook
}

// Add adds the flags to a command's.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.Filenames, "filename", "f", nil, "File, folder or URL with manifests; - is standard input. Repeatable")
	flags.BoolVarP(&f.Recursive, "recursive", "R", false, "Look into folders below the folders named with -f")
	flags.StringVarP(&f.Kustomize, "kustomize", "k", "", "Folder of a kustomization")
	flags.StringVarP(&f.Selector, "selector", "l", "", "Only objects whose labels match, such as app=web,tier!=cache")
	flags.BoolVar(&f.skipNonObjects, "skip-non-objects", false,
		"Leave out files of a folder that hold no Kubernetes object, and say which")
	flags.BoolVar(&f.skipInvalid, "skip-invalid", false,
		"Skip (and list) invalid or duplicate objects, do the rest, exit 1")
	flags.StringVar(&f.duplicates, "duplicates", "error",
		"An object that is in the input twice with different content: error, or last (the last one counts, as for kubectl)")
	flags.StringVar(&f.helmHooks, "helm-hooks", "skip",
		"Hooks of a rendered Helm chart: skip (and say which), apply (as objects) or error")
	// They fail only for an unknown flag.
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("kustomize")
	help.Words(cmd, "helm-hooks", "skip", "apply", "error")
	help.Words(cmd, "duplicates", "error", "last")
}

// ToOptions parses the flags.
func (f *Flags) ToOptions(streams genericiooptions.IOStreams) (Options, error) {
	if len(f.Filenames) == 0 && f.Kustomize == "" {
		return Options{}, errors.New("nothing to read: give -f FILENAME or -k DIRECTORY")
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

// Of returns the options of an input that is no file: manifests as text. It selects everything in
// the folder, which may be empty.
func Of(text []byte) Options {
	return Options{Files: manifest.Options{
		Filenames: []string{"-"}, In: bytes.NewReader(text), Hooks: manifest.HooksApply, Empty: true,
	}}
}

// filenames splits the values of -f at commas, as kubectl does, but keeps URLs and names
// of existing files whole, since they may contain commas.
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

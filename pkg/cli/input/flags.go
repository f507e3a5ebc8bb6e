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
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
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

// ServerSideFlag is --server-side, which has no effect and is accepted for kubectl scripts.
type ServerSideFlag struct{ on bool }

// Add adds the flag.
func (f *ServerSideFlag) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "server-side", true, "Always on; accepted for compatibility with kubectl")
	_ = flags.MarkHidden("server-side")
}

// Check refuses a client-side apply.
func (f *ServerSideFlag) Check() error {
	if f.on {
		return nil
	}
	return errors.New("--server-side=false is not supported; for a client-side apply, use kubectl apply")
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

// ChoiceFlags are the ownership flags of apply and diff.
type ChoiceFlags struct {
	manager   string
	take      []string
	yield     []string
	adoptFrom []string
	recreate  []string
	validate  string

	flags *pflag.FlagSet
}

// Add adds the flags to a command.
func (f *ChoiceFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.manager, "field-manager", "k8sconnect", "Field manager that will own the applied fields")
	flags.StringArrayVar(&f.take, "take", nil, "Contested [KIND[/NAME]:][manager=OWNER:]PATH to own; [*] matches any item, and \"all\" every path. Repeatable")
	flags.StringArrayVar(&f.yield, "yield", nil, "[KIND[/NAME]:][manager=OWNER:]PATH to leave to its owner; a path without an owner keeps its live value. Repeatable")
	flags.StringSliceVar(&f.adoptFrom, adoptFromFlag, []string{managedfields.ClientSideApply},
		"Managers whose fields become yours in this run, so that fields removed from the manifest are removed from the cluster. "+
			"Fields that kubectl apply owns become yours automatically with your first apply of the object. Empty for none")
	flags.StringArrayVar(&f.recreate, "recreate", nil,
		"KIND[/NAME] to delete and create again if a change is not possible in place. Repeatable")
	f.flags = flags
	flags.StringVar(&f.validate, "validate", "strict", "Unknown and duplicate fields: strict (refuse), warn or ignore")
}

// from returns the managers from which fields are adopted: once from client-side apply, and in each
// run from managers that the user names.
func (f *ChoiceFlags) from() adopt.From {
	names := slices.DeleteFunc(slices.Clone(f.adoptFrom), func(name string) bool { return name == "" })
	if f.flags == nil || !f.flags.Changed(adoptFromFlag) {
		return adopt.From{Once: names}
	}
	if len(names) == 0 {
		return adopt.From{}
	}
	return adopt.From{Always: names, Once: []string{managedfields.ClientSideApply}}
}

const adoptFromFlag = "adopt-from"

// maxManager is the server's maximum length of a field manager, in bytes.
const maxManager = 128

// ManagerFault returns the reason why the name of a manager is invalid; empty if it is valid. An
// empty name usually comes from an unset variable.
func ManagerFault(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > maxManager:
		return fmt.Sprintf("has %d bytes, but the server accepts at most %d", len(name), maxManager)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("is %q, but the server accepts only printable characters", name)
	}
	return ""
}

// ToPredictor returns a Predictor with these choices. The caller sets its server and schemas.
func (f *ChoiceFlags) ToPredictor() (predict.Predictor, error) {
	p := predict.Predictor{Manager: f.manager, AdoptFrom: f.from(), Locate: manifest.Locate}
	if fault := ManagerFault(f.manager); fault != "" {
		return p, &object.HintedError{
			Err:    errors.New("--field-manager " + fault),
			Advice: "use a name such as --field-manager=team-shop; the default is k8sconnect",
		}
	}
	switch f.validate {
	case "strict", "true":
		p.Validation = "Strict"
	case "warn":
		p.Validation = "Warn"
	case "ignore", "false":
		p.Validation = "Ignore"
	default:
		return p, fmt.Errorf("--validate must be strict, warn or ignore, not %q", f.validate)
	}
	var takeErr, yieldErr error
	p.Take, takeErr = choices("--take", f.take)
	p.Yield, yieldErr = choices("--yield", f.yield)
	for _, c := range p.Yield {
		if len(c.Path) == 0 && c.Manager == "" {
			yieldErr = errors.Join(yieldErr, fmt.Errorf("--yield: %q: a path or a manager is missing", c))
		}
	}
	var recreateErr error
	for _, text := range f.recreate {
		c, err := predict.ParseObject(text)
		p.Recreate, recreateErr = append(p.Recreate, c), errors.Join(recreateErr, verb.FlagError("--recreate", err))
	}
	return p, errors.Join(takeErr, yieldErr, recreateErr)
}

func choices(flag string, texts []string) ([]predict.Choice, error) {
	var all []predict.Choice
	var errs []error
	for _, text := range texts {
		some, err := predict.ParseChoices(text)
		errs = append(errs, verb.FlagError(flag, err))
		all = append(all, some...)
	}
	return all, errors.Join(errs...)
}

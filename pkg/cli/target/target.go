// Package target determines which objects a verb selects, and explains why a named object may be
// missing.
package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Flags are the flags that select objects, together with the arguments.
type Flags struct {
	input.Flags
	All           bool
	AllNamespaces bool
	Fields        string
	Set           string
}

// AddSet adds the flag that selects the members of a set.
func (f *Flags) AddSet(cmd *cobra.Command) {
	verb.AddSetFlag(cmd.Flags(), &f.Set, "The members of this set, [KIND[.GROUP]/]NAME, instead of a TYPE")
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	f.Flags.Add(cmd)
	cmd.Flags().StringVar(&f.Fields, fieldSelectorFlag, "",
		"Field selector for a TYPE, such as status.phase=Failed; the supported fields depend on the TYPE")
	help.Words(cmd, fieldSelectorFlag)
	cmd.Flags().BoolVar(&f.All, "all", false, "All objects of the TYPE in the namespace")
	cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "All namespaces; requires -l, --all or --field-selector")
}

const fieldSelectorFlag = "field-selector"

// Targets are the parsed arguments.
type Targets struct {
	// Named lists the named objects in the order of the arguments, without duplicates.
	Named []Named
	// Types are the types from which Labels and Fields select objects; an empty selector matches
	// all.
	Types      []string
	Labels     string
	Fields     string
	Everywhere bool

	Set string
	// InFiles means that the objects are given as manifests, which Files reads.
	InFiles bool
	Files   input.Options
}

// Named is TYPE/NAME as typed.
type Named struct{ Type, Name string }

// ToTargets parses flags and arguments according to kubectl's rules.
func (f *Flags) ToTargets(args []string, streams genericiooptions.IOStreams) (Targets, error) {
	if f.Set != "" {
		return f.toSet(args)
	}
	if len(f.Filenames) > 0 || f.Kustomize != "" {
		return f.toFiles(args, streams)
	}
	t := Targets{Labels: strings.TrimSpace(f.Selector), Fields: strings.TrimSpace(f.Fields), Everywhere: f.AllNamespaces}
	selector, err := labels.Parse(t.Labels)
	if err != nil {
		return t, fmt.Errorf("-l: %w", err)
	}
	if _, err := fields.ParseSelector(t.Fields); err != nil {
		return t, fmt.Errorf("--%s: %w", fieldSelectorFlag, err)
	}
	switch {
	case f.Recursive:
		return t, errors.New("-R requires -f")
	case len(args) == 0:
		return t, object.Hinted("name them as TYPE/NAME, or as TYPE with -l, --all or --field-selector, or use -f FILENAME or -k DIRECTORY",
			"no object named")
	case f.All && t.Labels != "":
		return t, errors.New("--all and -l cannot be combined")
	}
	if err := t.Read(args); err != nil {
		return t, err
	}
	selecting := f.All || !selector.Empty() || t.Fields != "" // An empty selector would match everything.
	switch {
	case len(t.Named) > 0 && f.All:
		return t, fmt.Errorf("--all cannot be combined with the name %q, only with a TYPE", t.Named[0].Name)
	case len(t.Named) > 0 && t.Labels != "":
		return t, fmt.Errorf("-l cannot be combined with the name %q, only with a TYPE", t.Named[0].Name)
	case len(t.Named) > 0 && t.Fields != "":
		return t, fmt.Errorf("--%s cannot be combined with the name %q, only with a TYPE", fieldSelectorFlag, t.Named[0].Name)
	case len(t.Named) > 0 && f.AllNamespaces:
		return t, object.Hinted("name the namespace with -n",
			"-A requires -l, --all or --field-selector: objects in several namespaces may have the name %q", t.Named[0].Name)
	case len(t.Named) == 0 && !selecting:
		return t, object.Hinted("write TYPE/NAME, or select objects of the TYPE with -l SELECTOR, --field-selector SELECTOR or --all",
			"no object named: %q is read as a TYPE", strings.Join(t.Types, ","))
	}
	return t, nil
}

func (f *Flags) toSet(args []string) (Targets, error) {
	if len(args)+len(f.Filenames) > 0 || f.Kustomize != "" || f.Selector != "" || f.Fields != "" || f.All || f.AllNamespaces {
		return Targets{}, errors.New("--" + verb.SetFlag + " selects only members of a set: it cannot be combined with names, files, selectors, --all or -A")
	}
	_, _, err := applyset.ParseName(f.Set)
	return Targets{Set: f.Set}, err
}

func (f *Flags) toFiles(args []string, streams genericiooptions.IOStreams) (Targets, error) {
	t := Targets{InFiles: true}
	switch {
	case len(args) > 0:
		return t, fmt.Errorf("objects come from files or from arguments, not from both: unexpected argument %q", args[0])
	case f.All:
		return t, errors.New("--all requires a TYPE; -f and -k always select all objects")
	case f.Fields != "":
		return t, fmt.Errorf("--%s requires a TYPE: only the server can evaluate it", fieldSelectorFlag)
	case f.AllNamespaces:
		return t, errors.New("-A requires a TYPE; objects in files have their own namespaces")
	}
	var err error
	t.Files, err = f.ToOptions(streams)
	return t, err
}

// Read parses arguments as kubectl does: TYPE/NAME pairs, or types and then names. If an argument looks like
// a file or a path, the error names the right flag or spelling.
func (t *Targets) Read(args []string) error {
	slashes := 0
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			slashes++
		}
	}
	switch {
	case slashes == len(args):
		return t.readPairs(args)
	case looksLikeFile(args[0]):
		return &object.HintedError{Err: fmt.Errorf("unexpected argument %q", args[0]), Advice: "to name manifests, use -f or -k"}
	case slashes > 0 && slices.ContainsFunc(args, looksLikePath):
		path := args[slices.IndexFunc(args, looksLikePath)]
		return &object.HintedError{Err: fmt.Errorf("unexpected argument %q", path), Advice: "if it is a path, begin it with a dot: ." + path}
	case slashes > 0:
		return object.Hinted("write each object as TYPE/NAME, or one TYPE and then names",
			"TYPE/NAME and TYPE NAME cannot be combined")
	}
	types, err := typesOf(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		t.Types = types
		return nil
	}
	for _, typ := range types {
		for _, name := range args[1:] {
			if err := t.name(typ, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Targets) readPairs(args []string) error {
	for _, arg := range args {
		typ, name, _ := strings.Cut(arg, "/")
		switch {
		case looksLikeFile(arg):
			return &object.HintedError{Err: fmt.Errorf("unexpected argument %q", arg), Advice: "to name manifests, use -f or -k"}
		case strings.Contains(typ, ","):
			return fmt.Errorf("%q: only one TYPE per name", arg)
		case typ == "", name == "":
			return fmt.Errorf("%q: not TYPE/NAME", arg)
		case strings.Contains(name, "/"):
			return &object.HintedError{Err: fmt.Errorf("%q: not TYPE/NAME", arg), Advice: "set the namespace with -n"}
		}
		if err := t.name(typ, name); err != nil {
			return err
		}
	}
	return nil
}

// name adds a named object. It refuses a string that cannot be a name, because the name becomes
// part of a request's path.
func (t *Targets) name(typ, name string) error {
	if name == "" {
		return errors.New("a name is empty")
	}
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return fmt.Errorf("%q: a name %s", name, faults[0])
	}
	if one := (Named{Type: typ, Name: name}); !slices.Contains(t.Named, one) {
		t.Named = append(t.Named, one)
	}
	return nil
}

func typesOf(arg string) ([]string, error) {
	var types []string
	for typ := range strings.SplitSeq(arg, ",") {
		if typ == "" {
			return nil, fmt.Errorf("%q: a TYPE is missing", arg)
		}
		if !slices.Contains(types, typ) {
			types = append(types, typ)
		}
	}
	return types, nil
}

// looksLikePath reports whether the argument is the path of a field without its first dot.
func looksLikePath(arg string) bool {
	field, _, _ := strings.Cut(strings.ReplaceAll(arg, "[", "."), ".")
	return slices.Contains([]string{"metadata", "spec", "status", "data", "stringData", "binaryData"}, field)
}

func looksLikeFile(arg string) bool {
	return slices.ContainsFunc([]string{".yaml", ".yml", ".json"}, func(ext string) bool { return strings.HasSuffix(arg, ext) })
}

// NameObjects reports whether the arguments name objects, rather than a TYPE or nothing.
func NameObjects(args []string) bool {
	return len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/")
}

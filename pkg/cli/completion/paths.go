package completion

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Paths completes a path of the object that the arguments name first.
func Paths(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return words{c}.ofObject(cmd, args, func(live *unstructured.Unstructured) ([]string, cobra.ShellCompDirective) {
			return nextLevel(nil, texts(fieldpath.ManifestPaths(live.Object)), "", toComplete)
		})
	}
}

// TargetsAndPaths completes TYPE and names like [Targets], and paths of the object that the
// arguments name first.
func TargetsAndPaths(c *connection.Connection) cobra.CompletionFunc {
	objects, paths := Targets(c), Paths(c)
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if strings.HasPrefix(toComplete, ".") {
			return paths(cmd, args, toComplete)
		}
		return objects(cmd, args, toComplete)
	}
}

// JSONPaths completes jsonpath={…} with the fields of the object that the arguments name first, and
// otherwise the formats.
func JSONPaths(c *connection.Connection, formats []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		typed, is := strings.CutPrefix(toComplete, "jsonpath=")
		if !is {
			return formats, cobra.ShellCompDirectiveNoFileComp
		}
		typed = strings.TrimPrefix(typed, "{")
		return words{c}.ofObject(cmd, args, func(live *unstructured.Unstructured) ([]string, cobra.ShellCompDirective) {
			found, directive := nextLevel(nil, jsonPaths("", live.Object), "jsonpath={", typed)
			if directive&cobra.ShellCompDirectiveNoSpace == 0 {
				for i := range found {
					found[i] += "}"
				}
			}
			return found, directive
		})
	}
}

// jsonPaths returns the JSONPath of each field, parents first. A list is represented by its first
// item.
func jsonPaths(path string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := path + "." + strings.ReplaceAll(name, ".", `\.`)
			out = append(append(out, below), jsonPaths(below, v[name])...)
		}
	case []any:
		if len(v) > 0 {
			below := path + "[0]"
			out = append(append(out, below), jsonPaths(below, v[0])...)
		}
	}
	return out
}

// Finalizers completes the finalizers of the object that the arguments name first.
func Finalizers(c *connection.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words{c}.ofObject(cmd, args, func(live *unstructured.Unstructured) ([]string, cobra.ShellCompDirective) {
			return live.GetFinalizers(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// ofObject reads the first object that the arguments name. Without one, nothing is completed.
func (c words) ofObject(
	cmd *cobra.Command, args []string, complete func(*unstructured.Unstructured) ([]string, cobra.ShellCompDirective),
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	objects := namedObjects(args)
	if len(objects) == 0 || objects[0].name == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	live, err := c.live(ctx, objects[0])
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete(live)
}

func (c words) live(ctx context.Context, o named) (*unstructured.Unstructured, error) {
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	kind, err := client.Resource(ctx, o.typ)
	if err != nil {
		return nil, err
	}
	return client.Get(ctx, kind, object.Ref{GVK: kind.GVK, Namespace: target.Scope(kind, namespace), Name: o.name})
}

// Choices completes KIND/NAME:PATH for a decision about contested paths: the objects of the input,
// and the paths of their manifests. Paths with other owners come first. The words stand before the
// objects.
func Choices(c *connection.Connection, before ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found, directive, err := words{c}.choices(ctx, cmd, toComplete, before)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return found, directive
	}
}

func (c words) choices(ctx context.Context, cmd *cobra.Command, toComplete string, before []string) ([]string, cobra.ShellCompDirective, error) {
	input, err := c.input(ctx, cmd)
	if err != nil || len(input) == 0 {
		return before, cobra.ShellCompDirectiveNoFileComp, err
	}
	earlier, typed := lastInList(toComplete)
	prefix, path := splitPath(typed)
	if prefix == "" && path == "" { // The object is not complete yet.
		input, spelled := c.spelled(ctx, input, typed)
		input = slices.DeleteFunc(slices.Clone(input), func(m object.Manifest) bool {
			return !strings.HasPrefix(spelled(m.Ref().Resource()), strings.TrimSuffix(typed, ":"))
		})
		contested, err := c.contested(ctx, cmd, input)
		for i, o := range contested {
			contested[i].path = spelled(o.of) + o.path
		}
		names := prefixes(input)
		for i, name := range names {
			names[i] = spelled(name)
		}
		found, directive := nextLevel(contested, append(slices.Clone(before), names...), earlier, typed)
		return found, directive | cobra.ShellCompDirectiveNoSpace, err
	}
	if prefix != "" {
		if input, err = c.named(ctx, input, strings.TrimSuffix(prefix, ":")); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp, err
		}
	}
	contested, err := c.contested(ctx, cmd, input)
	var others []string
	for _, m := range input {
		others = append(others, texts(fieldpath.ManifestPaths(m.Object.Object))...)
	}
	found, directive := nextLevel(contested, others, earlier+prefix, path)
	return found, directive, err
}

// splitPath splits KIND/NAME: from the path. The name may contain colons, so the path begins with the
// first dot or bracket that follows one. Both are empty if the object is not complete.
func splitPath(typed string) (prefix, path string) {
	if strings.HasPrefix(typed, ".") || strings.HasPrefix(typed, "[") {
		return "", typed
	}
	for _, start := range []string{":.", ":["} {
		if i := strings.Index(typed, start); i >= 0 {
			return typed[:i+1], typed[i+1:]
		}
	}
	if strings.HasSuffix(typed, ":") {
		return typed, ""
	}
	return "", ""
}

// named returns the objects of the input that the user names, with any of the names of their kind.
func (c words) named(ctx context.Context, input []object.Manifest, name string) ([]object.Manifest, error) {
	exact := func(m object.Manifest) bool { return m.Ref().Resource() == name }
	typ, own, _ := strings.Cut(name, "/")
	if !slices.ContainsFunc(input, exact) {
		client, err := c.ForCompletion(ctx)
		if err != nil {
			return nil, err
		}
		kind, err := client.Resource(ctx, typ)
		if err != nil {
			return nil, err
		}
		exact = func(m object.Manifest) bool {
			return m.Ref().GVK.GroupKind() == kind.GVK.GroupKind() && m.Ref().Name == own
		}
	}
	return slices.DeleteFunc(slices.Clone(input), func(m object.Manifest) bool { return !exact(m) }), nil
}

// spelled returns how the user names the objects of a kind: if the typed text begins with a short name
// or a plural, the objects of that kind, and a function that spells a name in this way.
func (c words) spelled(ctx context.Context, input []object.Manifest, typed string) ([]object.Manifest, func(string) string) {
	asIs := func(name string) string { return name }
	typ, _, slash := strings.Cut(typed, "/")
	if !slash || slices.ContainsFunc(input, func(m object.Manifest) bool { return strings.HasPrefix(m.Ref().Resource(), typ+"/") }) {
		return input, asIs
	}
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return input, asIs
	}
	kind, err := client.Resource(ctx, typ)
	if err != nil {
		return input, asIs
	}
	of := slices.DeleteFunc(slices.Clone(input), func(m object.Manifest) bool { return m.Ref().GVK.GroupKind() != kind.GVK.GroupKind() })
	return of, func(name string) string {
		if _, own, found := strings.Cut(name, "/"); found {
			return typ + "/" + own
		}
		return name
	}
}

// prefixes returns KIND/NAME: of each object, once.
func prefixes(input []object.Manifest) []string {
	var out []string
	for _, m := range input {
		if name := m.Ref().Resource() + ":"; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// input reads the files of -f and -k. Standard input and URLs are left out, since a shell is
// waiting.
func (c words) input(ctx context.Context, cmd *cobra.Command) ([]object.Manifest, error) {
	given, err := cmd.Flags().GetStringArray("filename")
	if err != nil {
		return nil, err
	}
	o := manifest.Options{SkipInvalid: true, SkipNonObjects: true, Hooks: manifest.HooksSkip, Secrets: c.Vault}
	for _, names := range given {
		for name := range strings.SplitSeq(names, ",") {
			if name != "-" && !strings.Contains(name, "://") {
				o.Filenames = append(o.Filenames, name)
			}
		}
	}
	o.Recursive, _ = cmd.Flags().GetBool("recursive")
	if o.Kustomize, _ = cmd.Flags().GetString("kustomize"); strings.Contains(o.Kustomize, "://") {
		o.Kustomize = ""
	}
	if len(o.Filenames) == 0 && o.Kustomize == "" {
		return nil, nil
	}
	result, err := manifest.Read(ctx, o)
	return result.Objects, err
}

// mostRead limits the live objects that are read to find contested paths, because a shell is
// waiting.
const mostRead = 20

// contested returns the paths of the input that others own with another value. It leaves out what
// cannot be read, for which it returns an error.
func (c words) contested(ctx context.Context, cmd *cobra.Command, input []object.Manifest) ([]offer, error) {
	if len(input) == 0 {
		return nil, nil
	}
	client, err := c.ForCompletion(ctx)
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	manager, _ := cmd.Flags().GetString("field-manager")
	input = input[:min(len(input), mostRead)]
	found := make([][]offer, len(input))
	var reading errgroup.Group
	for i, m := range input {
		reading.Go(func() (err error) {
			found[i], err = contestedIn(ctx, client, m, namespace, manager)
			return err
		})
	}
	err = reading.Wait()
	return slices.Concat(found...), err
}

// contestedIn offers the paths at which an apply would conflict: another manager owns the field, and its
// value differs from the one in the manifest.
func contestedIn(ctx context.Context, client *client.Client, m object.Manifest, namespace, manager string) ([]offer, error) {
	ref := m.Ref()
	kind, err := client.Kind(ctx, ref.GVK)
	if err != nil {
		return nil, err
	}
	if kind.Namespaced && ref.Namespace == "" {
		ref.Namespace = namespace
	}
	live, err := client.Get(ctx, kind, ref)
	if err != nil {
		return nil, err
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	var out []offer
	others := managedfields.Others(entries, manager)
	manifest, current := ownership.NewLookup(m.Object.Object), ownership.NewLookup(live.Object)
	for _, path := range fieldpath.ManifestPaths(m.Object.Object) {
		yours, _ := manifest.Get(path)
		theirs, _ := current.Get(path)
		if fieldpath.IsFilled(yours) || fieldpath.Equal(yours, theirs) {
			continue
		}
		owners, err := managedfields.Owners(others, path)
		if err != nil || len(owners) == 0 {
			continue
		}
		names := make([]string, len(owners))
		for i, o := range owners {
			names[i] = o.Manager
		}
		out = append(out, offer{of: ref.Resource() + ":", path: path.String(), note: "owned by " + strings.Join(names, ", ")})
	}
	return out, nil
}

func texts(paths []fieldpath.Path) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p.String()
	}
	return out
}

package usage

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
)

// all is the flag that prints help with all flags. Like --help, it stops flag parsing.
const all = "help-all"

type allFlags bool

func (a *allFlags) Set(string) error {
	*a = true
	return pflag.ErrHelp
}

func (a *allFlags) String() string {
	if a != nil && *a {
		return "true"
	}
	return "false"
}

func (a *allFlags) Type() string { return "bool" }

// AddAll adds the flag --help-all.
func AddAll(flags *pflag.FlagSet) {
	f := flags.VarPF(new(allFlags), all, "", "Show help with all flags")
	f.NoOptDefVal = "true"
}

func whole(cmd *cobra.Command) bool {
	show := cmd.Flag(all)
	return show != nil && show.Value.String() == "true"
}

// --help prints the flags in first; --help-all also prints those in rest. An entry "VERB NAME" adds
// the flag NAME for that verb only; for other verbs, NAME is listed elsewhere.
type group struct {
	title       string
	first, rest []string
}

func groups() []group {
	return []group{
		{
			"Input",
			[]string{
				"filename", "apply recursive", "diff recursive", "kustomize", "selector", "all-namespaces", "helm-release",
				"releases chart-output", "helm-releases", "inventory-of", "deprecated release", "deleted", "history since", "local",
			},
			[]string{
				"recursive", "owners kustomize", "delete kustomize", "give kustomize", "all", "field-selector", "chart-output", "skip-non-objects", "skip-invalid",
				"duplicates", "helm-hooks", "config",
			},
		},
		{
			"Conflicts and ownership",
			[]string{
				"take", "yield", "diff exclusive", "to", "give from", "share", "give release", "path", "manager", "owners history",
				"owners since", "expect", "unmanaged",
			},
			[]string{
				"exclusive", "adopt-from", "field-manager", "continue-on-conflict", "recreate", "validate", "as-operation", "from-release",
				"to-release", "from-inventory", "to-inventory", "from-set", "to-set", "allow-new", "from", "status", "migrate-versions",
			},
		},
		{
			"Preview and safety",
			[]string{
				"dry-run", "apply confirm", "rollback yes", "rollback confirm", "delete confirm", "atomic", "cascade", "delete grace-period",
				"now", "delete force", "delete remove-finalizer", "delete yes", "ignore-not-found",
			},
			[]string{
				"owners dry-run", "others", "yes", "confirm", "no-input", "warnings-as-errors", "grace-period", "force", "remove-finalizer",
				connection.ExpectContext, connection.ExpectCluster,
			},
		},
		{
			"Waiting",
			[]string{"wait", "for", "any", "fail-on", "timeout", "delete explain-stuck", "explain-ready"},
			[]string{
				"wait-for", "fail-on-cause", "timeout-for", "existence-timeout",
				"explain-stuck", "logs", "await-kinds",
			},
		},
		{"Sets", []string{"apply-set", "prune"}, []string{"prune-allow", "leave-set", "allow-join", "lock-timeout", "history"}},
		{"Output", []string{"output", "stat", "summary"}, []string{"color", connection.RunID, "v"}},
		{"Connection", []string{"namespace", "context"}, []string{"kubeconfig", "server-timeout"}},
	}
}

// flagTexts prints the flags by group. A flag that stands in no group is listed under Other, so that a new
// flag cannot be missing. Without --help-all, the flags in rest are left out.
func flagTexts(w io.Writer, cmd *cobra.Command, columns int) {
	flags := map[string]*pflag.Flag{}
	var order, kubectls []string
	see := func(f *pflag.Flag) {
		name := f.Name
		if special := cmd.Name() + " " + name; slices.ContainsFunc(groups(), func(g group) bool { return slices.Contains(slices.Concat(g.first, g.rest), special) }) {
			name = special
		}
		flags[name], order = f, append(order, name)
	}
	local := cmd.LocalNonPersistentFlags()
	local.SortFlags = false
	local.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			see(f)
		}
	})
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == all:
		case slices.Contains(connection.CommonFlags(), f.Name):
			see(f)
		default:
			kubectls = append(kubectls, "--"+f.Name)
		}
	})
	for _, g := range append(groups(), group{title: "Other", first: order}) {
		names := g.first
		if whole(cmd) {
			names = slices.Concat(g.first, g.rest)
		}
		title := "\n" + g.title + ":\n"
		for _, name := range names {
			if f := flags[name]; f != nil {
				fmt.Fprint(w, title+flagText(f, columns, whole(cmd)))
				title = ""
			}
			delete(flags, name)
		}
		for _, name := range g.rest {
			delete(flags, name)
		}
	}
	switch {
	case whole(cmd) && len(kubectls) > 0:
		fmt.Fprintf(w, "\nAs in kubectl (see: kubectl options):\n%s\n", listed(kubectls, "  ", columns))
	case len(order) > 0:
		fmt.Fprintf(w, "\nAll flags and examples: %s --%s\n", cmd.CommandPath(), all)
	}
}

// flagText formats a flag and its usage as kubectl does. Unless whole is set, it includes only the
// first part of the usage, and the default.
func flagText(f *pflag.Flag, columns int, whole bool) string {
	short := "    "
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	value, usage := pflag.UnquoteUsage(f)
	if value != "" {
		value = " " + value
	}
	if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
		value = strings.TrimPrefix(value, " ")
		value = "[=" + value + "]"
	}
	if !whole {
		usage, _, _ = strings.Cut(usage, ". ")
		usage, _, _ = strings.Cut(usage, "; ")
	}
	if whole || f.Value.Type() != "string" { // A flag with words lists its default first.
		usage += defaultOf(f)
	}
	return "  " + short + "--" + f.Name + value + "\n" + filled(strings.Fields(usage), "        ", columns) + "\n"
}

func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "[]", "false":
		return ""
	}
	if f.Value.Type() == "string" {
		return fmt.Sprintf(" (default %q)", f.DefValue)
	}
	return " (default " + f.DefValue + ")"
}

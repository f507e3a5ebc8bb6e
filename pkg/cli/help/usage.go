package help

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
)

// Help is as wide as the terminal, within bounds; elsewhere the lower bound.
const (
	narrowest = 80
	widest    = 120
)

// Usage returns a function that writes the usage of a command. It differs from cobra's
// own: lines fit the terminal, flags come in the order in which they matter, and
// kubectl's flags are only named.
func Usage(terminal func() (width func() int, ok bool)) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		columns := narrowest
		if width, ok := terminal(); ok {
			columns = min(max(columns, width()), widest)
		}
		w := cmd.OutOrStdout()
		fmt.Fprintln(w, "Usage:")
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(w, "  %s COMMAND [flags]\n", cmd.CommandPath())
		} else {
			fmt.Fprintf(w, "  %s\n", cmd.UseLine())
		}
		if cmd.HasExample() {
			fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
		}
		commandTexts(w, cmd)
		flagTexts(w, cmd, columns)
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(w, "\nMore about one of them: %s COMMAND --help\n", cmd.CommandPath())
		}
		return nil
	}
}

func commandTexts(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, "\nCommands:")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

func flagTexts(w io.Writer, cmd *cobra.Command, columns int) {
	own, common := pflag.NewFlagSet("own", pflag.ContinueOnError), pflag.NewFlagSet("common", pflag.ContinueOnError)
	own.SortFlags, common.SortFlags = false, false
	var kubectls []string
	local := cmd.LocalNonPersistentFlags()
	local.SortFlags = false
	local.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			own.AddFlag(f)
		}
	})
	inherited := cmd.InheritedFlags()
	for _, name := range connection.CommonFlags() {
		if f := inherited.Lookup(name); f != nil {
			common.AddFlag(f)
		}
	}
	inherited.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(connection.CommonFlags(), f.Name) {
			kubectls = append(kubectls, "--"+f.Name)
		}
	})
	for _, group := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", own}, {"Flags of every command", common}} {
		if group.flags.HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(columns))
		}
	}
	if len(kubectls) > 0 {
		fmt.Fprintf(w, "\nAs in kubectl (see: kubectl options):\n%s\n", listed(kubectls, "  ", columns))
	}
}

// listed joins words with commas, in indented lines that end before the terminal
// does.
func listed(words []string, indent string, columns int) string {
	var text strings.Builder
	used := columns
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		switch {
		case used+len(" ")+len(word) < columns:
			text.WriteString(" " + word)
			used += len(" ") + len(word)
		case i == 0:
			text.WriteString(indent + word)
			used = len(indent) + len(word)
		default:
			text.WriteString("\n" + indent + word)
			used = len(indent) + len(word)
		}
	}
	return text.String()
}

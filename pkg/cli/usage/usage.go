// Package usage prints the help of a command, with its flags grouped by importance.
package usage

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Help is as wide as the terminal, within these limits. Without a terminal, it has the minimum
// width.
const (
	narrowest = 80
	widest    = 120
)

// Print returns a function that prints the usage of a command. Unlike cobra's default, the function
// groups flags by importance, and wraps lines to fit the terminal.
func Print(terminal func() (width func() int, ok bool)) func(*cobra.Command) error {
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
		if examples := cmd.Example; cmd.HasExample() {
			if !whole(cmd) {
				examples, _, _ = strings.Cut(examples, "\n\n")
			}
			fmt.Fprintf(w, "\nExamples:\n%s\n", examples)
		}
		commandTexts(w, cmd)
		flagTexts(w, cmd, columns)
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(w, "\nMore about a command: %s COMMAND --help\n", cmd.CommandPath())
		}
		return nil
	}
}

// Show prints the help of a command. Without --help-all, it prints only the first paragraph and the
// exit status.
func Show(cmd *cobra.Command, _ []string) {
	message := cmd.Long
	if message == "" {
		message = cmd.Short
	}
	if parts := strings.Split(message, "\n\n"); !whole(cmd) && !cmd.HasAvailableSubCommands() {
		if last := parts[len(parts)-1]; strings.HasPrefix(last, "Exit status") {
			message = parts[0] + "\n\n" + last
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", strings.TrimSpace(message), cmd.UsageString())
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

func listed(words []string, indent string, columns int) string {
	return filled(strings.Fields(strings.Join(words, ", ")), indent, columns)
}

func filled(words []string, indent string, columns int) string {
	var text strings.Builder
	used := columns
	for i, word := range words {
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

package help

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NearFlag returns the flag that the user probably meant; empty if none is similar.
func NearFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	if cmd == nil || unknown == nil {
		return ""
	}
	var names []string
	see := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(see)
	cmd.InheritedFlags().VisitAll(see)
	name := text.Nearest(unknown.GetSpecifiedName(), names)
	if name == "" {
		return ""
	}
	return "--" + name
}

// NearWord returns the valid value that the user probably meant; empty if none is similar.
func NearWord(cmd *cobra.Command) string {
	near := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		known, value := f.Annotations[wordsOf], f.Value.String()
		if near != "" || len(known) == 0 || f.Value.Type() != "string" || strings.Contains(value, "=") || slices.Contains(known, value) {
			return
		}
		if word := text.Nearest(value, known); word != "" {
			near = "--" + f.Name + "=" + word
			if f.Shorthand != "" {
				near = "-" + f.Shorthand + " " + word
			}
		}
	})
	return near
}

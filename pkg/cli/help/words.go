package help

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wordsOf is the annotation that lists the valid values of a flag.
const wordsOf = "words"

// Complete registers the completion of a flag's value, if the flag belongs to the command itself.
func Complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if own(cmd, flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, with) // It fails only for a second registration.
	}
}

// own returns a flag of the command itself; nil if the flag belongs to a parent. It avoids Cobra's
// LocalFlags, which rebuilds all flag sets on each call.
func own(cmd *cobra.Command, flag string) *pflag.Flag {
	f := cmd.Flags().Lookup(flag)
	if f == nil {
		f = cmd.PersistentFlags().Lookup(flag)
	}
	for above := cmd.Parent(); f != nil && above != nil; above = above.Parent() {
		if above.PersistentFlags().Lookup(flag) == f {
			return nil
		}
	}
	return f
}

// Words completes the value of a flag with these words, which [NearWord] uses too. If there are
// none, it completes nothing, because a file name would be wrong.
func Words(cmd *cobra.Command, flag string, values ...string) {
	if f := own(cmd, flag); f != nil && len(values) > 0 {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[wordsOf] = values
	}
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

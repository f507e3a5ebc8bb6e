package help

import "github.com/spf13/cobra"

// wordsOf is the annotation of a flag with the words that it knows.
const wordsOf = "words"

// Complete completes the value of a flag of the command's own, if it has it.
func Complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if cmd.LocalFlags().Lookup(flag) == nil || cmd.InheritedFlags().Lookup(flag) != nil {
		return
	}
	// It fails only for an unknown flag, or for a second registration.
	_ = cmd.RegisterFlagCompletionFunc(flag, with)
}

// Words completes the value of a flag to one of some words, which [NearWord] knows too;
// without words it completes to nothing, because a file's name would be wrong.
func Words(cmd *cobra.Command, flag string, values ...string) {
	if f := cmd.Flag(flag); f != nil && len(values) > 0 {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[wordsOf] = values
	}
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

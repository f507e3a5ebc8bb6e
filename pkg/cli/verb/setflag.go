package verb

import "github.com/spf13/pflag"

// SetFlag names a set; SetFlagOfKubectl is kubectl's name for the flag.
const (
	SetFlag          = "apply-set"
	SetFlagOfKubectl = "applyset"
)

// AddSetFlag adds the flag that names a set.
func AddSetFlag(flags *pflag.FlagSet, name *string, usage string) {
	flags.StringVar(name, SetFlag, "", usage)
	flags.StringVar(name, SetFlagOfKubectl, "", usage)
	_ = flags.MarkHidden(SetFlagOfKubectl)
}

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// Flags are the flags about rules and defaults.
type Flags struct{ file string }

const fileFlag = "config"

// Add adds the flag to a command's.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, fileFlag, "", "File with rules and defaults; empty for none. Without it, k8sconnect.yaml beside the input, which may set less")
	_ = cmd.MarkFlagFilename(fileFlag, "yaml", "yml")
}

// Read reads the file that is named, or else the one beside the input, and says on stderr that it
// is used. Its settings stand in for flags that were not given; a guard of the file has to be met
// beside those of the flags. Without a file, nothing is set.
func (f *Flags) Read(in verb.Invocation, filenames []string, kustomize string) (*Settings, error) {
	flags := in.Cmd.Flags()
	file, named := f.file, flags.Changed(fileFlag)
	if !named {
		var err error
		if file, err = find(filenames, kustomize); err != nil {
			return &Settings{}, err
		}
	}
	if file == "" {
		return &Settings{}, nil
	}
	data, err := read(file)
	if err != nil {
		return &Settings{}, verb.FlagError("--"+fileFlag, err)
	}
	context, err := in.ContextName()
	if err != nil {
		return &Settings{}, err
	}
	s, err := Parse(file, data, context, named)
	if err != nil {
		return s, err
	}
	for _, want := range s.ExpectContext {
		in.ExpectContext(want.From, want.Value)
	}
	for _, want := range s.ExpectCluster {
		in.ExpectCluster(want.From, want.Value)
	}
	fmt.Fprintln(in.Streams.ErrOut, format.Plain("using "+s.String()))
	return s, s.onto(flags)
}

// String is the file, with the sections of it that apply.
func (s *Settings) String() string {
	if len(s.Contexts) == 0 {
		return s.File
	}
	return s.File + ", with its section for " + strings.Join(s.Contexts, ", ")
}

// onto sets the flags of a verb that were not given. They do not count as given by that.
// Whose fields become ours is a migration in the file: it happens with our first apply of an
// object, and client-side apply's go along.
func (s *Settings) onto(flags *pflag.FlagSet) error {
	set := func(name string, values ...string) error {
		flag := flags.Lookup(name)
		if flag == nil || flag.Changed || len(values) == 0 || values[0] == "" {
			return nil
		}
		if many, ok := flag.Value.(pflag.SliceValue); ok {
			return many.Replace(values)
		}
		return flag.Value.Set(values[0])
	}
	adopted := s.AdoptFrom
	if len(adopted) > 0 && !slices.Contains(adopted, managedfields.ClientSideApply) {
		adopted = append(slices.Clone(adopted), managedfields.ClientSideApply)
	}
	for _, err := range []error{
		set("field-manager", s.FieldManager), set("adopt-from", adopted...), set("recreate", s.Recreate...),
	} {
		if err != nil {
			return &Error{File: s.File, Err: err}
		}
	}
	return nil
}

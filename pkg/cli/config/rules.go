package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/others"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Rules records which choices took effect in a run. A nil *Rules records nothing.
type Rules struct {
	predictor predict.Predictor
	explain   bool

	mu        sync.Mutex
	looked    bool
	matched   map[string]bool
	decisions map[decided]predict.Decision
}

// decided identifies a decision. A later decision replaces an earlier one.
type decided struct {
	ref                   object.Ref
	path, choice, message string
}

// Ruled passes the rules of the file to a predictor. It returns nil if there is nothing to record.
func Ruled(s *Settings, explain bool, predictor *predict.Predictor) *Rules {
	predictor.Standing = s.Rules
	if len(s.Rules.Take)+len(s.Rules.Yield) == 0 && !explain && !predictor.NamesManagers() {
		return nil
	}
	r := &Rules{explain: explain, matched: map[string]bool{}, decisions: map[decided]predict.Decision{}}
	r.predictor = *predictor
	predictor.OnDecision = r.record
	return r
}

func (r *Rules) record(d predict.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matched[d.Source] = true
	if !r.explain || d.Outcome == predict.Matched {
		return
	}
	r.decisions[decided{d.Ref, d.Path.String(), d.Choice, d.Source}] = d
}

// Watch emits the decisions if the user asked to have them explained, and warns about rules that
// matched nothing. beside returns the objects that -l excluded. end is the result of the run; Watch
// returns it. Watch does not warn if end is an error for which [verb.IsResult] returns false.
func (r *Rules) Watch(p *plan.Plan, beside func() []plan.Item, emit func(event.Event), end error) error {
	if r == nil {
		return end
	}
	r.report(emit)
	if end != nil && !verb.IsResult(end) {
		return end
	}
	items := slices.Collect(p.Items())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = true
	var left []plan.Item
	if len(r.predictor.Standing.Take)+len(r.predictor.Standing.Yield) > 0 {
		left = beside()
	}
	read := predict.OfInput
	if verb.Evaluated(end) {
		read = predict.OfObjects
	}
	for _, miss := range r.predictor.Idle(items, left, read, func(message string) bool { return r.matched[message] }) {
		emit(event.Warned{Text: miss.Text})
	}
	return end
}

func (r *Rules) report(emit func(event.Event)) {
	r.mu.Lock()
	sorted := r.sorted()
	r.mu.Unlock()
	for len(sorted) > 0 {
		reported := event.Decided{Ref: sorted[0].Ref}
		for len(sorted) > 0 && sorted[0].Ref == reported.Ref {
			d := sorted[0]
			reported.Decisions = append(reported.Decisions, event.Decision{Path: d.Path, Outcome: string(d.Outcome), By: d.Source, Choice: asWritten(d)})
			sorted = sorted[1:]
		}
		emit(reported)
	}
}

func asWritten(d predict.Decision) string {
	choice := strings.TrimPrefix(d.Choice, "annotation "+d.Source+": ")
	return strings.TrimPrefix(choice, d.Source+"=")
}

func (r *Rules) sorted() []predict.Decision {
	return slices.SortedFunc(maps.Values(r.decisions), func(a, b predict.Decision) int {
		return cmp.Or(strings.Compare(a.Ref.String(), b.Ref.String()), a.Ref.Compare(b.Ref), a.Path.Compare(b.Path),
			strings.Compare(a.Source, b.Source), strings.Compare(a.Choice, b.Choice))
	})
}

// Explain prints which choice decided each path.
func (r *Rules) Explain(w io.Writer) {
	if r == nil || !r.explain {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.decisions) == 0 && r.looked && len(r.predictor.Standing.Take)+len(r.predictor.Standing.Yield) > 0 {
		fmt.Fprintln(w, "rules: no rule decided any path")
	}
	width, _ := verb.Terminal(w)
	for _, d := range r.sorted() {
		fmt.Fprintln(w, format.Fit("rules: ", fmt.Sprintf("%s: %s %s by %s", d.Ref, d.Path, d.Outcome, by(d)), width))
	}
}

func by(d predict.Decision) string {
	switch {
	case d.Source == "":
		return "the built-in table"
	case strings.Contains(d.Choice, d.Source):
		return d.Choice
	}
	return d.Source + " (" + d.Choice + ")"
}

// Flags are the flags for the configuration file.
type Flags struct{ file string }

const fileFlag = "config"

// Add adds the flag to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, fileFlag, "", "File with rules and defaults; empty for none. By default, k8sconnect.yaml next to the input, but some keys require --config")
	_ = cmd.MarkFlagFilename(fileFlag, "yaml", "yml")
}

// Read reads the file that the user named, or else the file next to the input. The file's settings
// apply to flags that were not given; its guards are added to the guards from the flags.
func (f *Flags) Read(in verb.Invocation, filenames []string, kustomize string) (*Settings, error) {
	flags := in.Cmd.Flags()
	file, named := f.file, flags.Changed(fileFlag)
	if !named {
		var err error
		if file, err = find(filenames, kustomize); err != nil {
			return &Settings{}, err
		}
	}
	if file == "" && !named {
		return &Settings{Place: place(filenames, kustomize)}, nil
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
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		s.Place = file
	}
	width, _ := verb.Terminal(in.Streams.ErrOut)
	fmt.Fprintln(in.Streams.ErrOut, format.Fit("using ", s.String(), width))
	return s, s.onto(flags)
}

// String returns the name of the file and the sections that apply.
func (s *Settings) String() string {
	if len(s.Contexts) == 0 {
		return s.File
	}
	return s.File + ", with the section for " + strings.Join(s.Contexts, ", ")
}

// onto sets the flags that were not given, without marking them as changed. A file with adoptFrom
// describes a migration, so onto also adds the manager of client-side apply to --adopt-from.
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
		set(others.Flag, s.Others),
	} {
		if err != nil {
			return &Error{File: s.File, Err: err}
		}
	}
	return nil
}

package document

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// The elements of JUnit's report that every reader of it knows.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Log      string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Log     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// applySuite makes each object of an apply a test: it failed if the object was
// not applied. named is how a flag names an object.
func applySuite(result result[appliedObject], named func(object.Ref) string) junitSuite {
	suite := junitSuite{Name: "apply", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("apply", o.objectName, o.Source, append(layout.Lines(o.Reason), o.Warnings...))
		switch o.Action { //nolint:exhaustive // all others went well
		case event.InConflict:
			c.Failure = contestedProblem(o, named(o.ref()))
		case event.Failed:
			c.Failure = problem(o.Action, o.Error, nil)
		case event.Skipped:
			c.Skipped = problem(o.Action, o.Error, nil)
		}
		if o.Wait != nil && o.Wait.Result != event.Met {
			c.Failure = problem(o.Wait.Result, o.Wait.Error, append(conditionTexts(o.Wait.Conditions), causeTexts(o.Wait.Causes)...))
		}
		suite.add(c)
	}
	return suite
}

// diffSuite makes each object of a diff a test: it failed if the object would
// change, and is an error if nobody can tell.
func diffSuite(result result[comparedObject]) junitSuite {
	suite := junitSuite{Name: "diff", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("diff", o.objectName, o.Source, o.Warnings)
		switch o.Action { //nolint:exhaustive // all others went well
		case event.Create, event.Update, event.Delete:
			c.Failure = problem(o.Action, o.Error, changedLines(o.Changes))
		case event.Share:
			c.Failure = problem(o.Action, o.Error, sharedLines(o))
		case event.Unknown:
			c.Error = problem(o.Action, o.Error, []string{o.Reason})
		}
		suite.add(c)
	}
	return suite
}

// sharedLines tell what changes where no value does.
func sharedLines(o comparedObject) []string {
	if o.Sharing == nil {
		return o.Adopted
	}
	return []string{o.Sharing.String()}
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func newCase(verb string, o objectName, file string, warnings []string) junitCase {
	return junitCase{
		Class: text.Printable(verb + "." + o.APIVersion),
		Name:  phrase.Name(o.ref()),
		File:  text.Printable(file),
		Log:   xmlText(warnings),
	}
}

// problem tells what is wrong in one line, and in full below it.
func problem(action event.Action, err *fault, details []string) *junitProblem {
	text := details
	p := &junitProblem{Type: string(action), Message: string(action)}
	if err != nil {
		text = append([]string{err.Message, err.Hint}, details...)
		if all := layout.Lines(err.Message); len(all) > 0 {
			p.Message = all[0]
		}
	}
	p.Text = xmlText(text)
	return p
}

// contestedProblem tells whose each contested path is, and the flags that settle it.
func contestedProblem(o appliedObject, named string) *junitProblem {
	var said []string
	for _, c := range o.Conflicts {
		live := "(none)"
		if c.Live != nil {
			live = phrase.Value(*c.Live)
		}
		line := fmt.Sprintf("%s: yours %s, live %s, owned by %s", c.Path, phrase.Value(c.Yours), live, managers(c.Owners))
		if c.Same {
			line += ", " + phrase.SameValue
		}
		flag := text.ShellQuote(named + ":" + c.Path)
		if !c.Refused {
			said = append(said, line, "  take it    --take="+flag, "  leave it   --yield="+flag)
			continue
		}
		said = append(said, line, "  leave it   --yield="+flag)
	}
	p := problem(o.Action, o.Error, append(said, "Or agree: put the live values into the manifest."))
	if len(o.Conflicts) > 0 {
		p.Message = text.Printable(fmt.Sprintf("%s is owned by %s", o.Conflicts[0].Path, managers(o.Conflicts[0].Owners)))
		if more := len(o.Conflicts) - 1; more > 0 {
			p.Message += ", and " + text.Count(more, "other contested path")
		}
	}
	return p
}

func changedLines(changes []changedPath) []string {
	var text []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s", c.Change, c.Path)
		if c.From != nil {
			line += ", from " + phrase.Value(*c.From)
		}
		if c.To != nil {
			line += ", to " + phrase.Value(*c.To)
		}
		text = append(text, line)
	}
	return text
}

// managers names owners, with the time at which each last wrote and not its age: a
// report is read later.
func managers(owners []ownerEntry) string {
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = phrase.Owner(managedfields.Owner{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource}, time.Time{})
		if o.Time == nil {
			continue
		}
		at := phrase.Stamp(*o.Time)
		if inside, found := strings.CutSuffix(names[i], ")"); found {
			names[i] = inside + ", " + at + ")"
		} else {
			names[i] += " (" + at + ")"
		}
	}
	return strings.Join(names, ", ")
}

// xmlText joins texts, each on lines of its own and without what a terminal or
// XML cannot take.
func xmlText(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, layout.Lines(text)...)
	}
	return strings.Join(all, "\n")
}

func writeSuite(b output.Base, suite junitSuite) error {
	for _, f := range faultsOf(b.State.LeftOut) {
		suite.add(junitCase{
			Class: suite.Name + ".input", Name: text.Printable(f.Message),
			Error: &junitProblem{Type: "leftOut", Message: text.Printable(f.Message), Text: xmlText([]string{f.Message, f.Hint})},
		})
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	b.Screen.Result(xml.Header + string(text) + "\n")
	return nil
}

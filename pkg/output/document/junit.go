package document

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// These are the JUnit elements that every reader supports.
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
		Line    string        `xml:"line,attr,omitempty"`
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

// newCase returns a test case. source is file:line, a file, or empty.
func newCase(verb string, o objectName, source string, warnings []string) junitCase {
	file, line := source, ""
	if colon := strings.LastIndexByte(source, ':'); colon > 0 {
		if _, err := strconv.Atoi(source[colon+1:]); err == nil {
			file, line = source[:colon], source[colon+1:]
		}
	}
	return junitCase{
		Class: text.Printable(verb + "." + o.APIVersion), Name: format.Name(o.ref()), File: text.Printable(file), Line: line, Log: xmlText(warnings),
	}
}

func problem(action event.Action, err *fault, details []string) *junitProblem {
	text := details
	p := &junitProblem{Type: string(action), Message: string(action)}
	if err != nil {
		text = append([]string{err.Message, err.Hint}, details...)
		if all := format.Lines(err.Message); len(all) > 0 {
			p.Message = all[0]
		}
	}
	p.Text = xmlText(text)
	return p
}

// xmlText joins texts with line breaks and drops characters that are invalid in XML or unsafe on a
// terminal.
func xmlText(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, format.Lines(text)...)
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

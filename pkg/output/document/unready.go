package document

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

type unreadyResult struct {
	header
	// The namespace, if only one was examined.
	Namespace string `json:"namespace,omitempty"`
	// Each cause once, with the objects that it holds.
	Roots []rootEntry `json:"roots,omitempty"`
	// Each object that is not ready.
	Objects []unreadyObject `json:"objects"`
	// Objects that are ready but cannot work and, with the code Unclear, those whose kind does not
	// show whether they are ready.
	Remarks []remarkOf `json:"remarks,omitempty"`
	// The kinds that could not be read.
	Unread []unread `json:"unread,omitempty"`
	// The objects and kinds that were read, and the objects that are unready, unclear and terminating.
	Summary unreadySummary `json:"summary"`
}

type unreadySummary struct {
	// The number of objects that were read.
	Read int `json:"read"`
	// The number of kinds that were read.
	Kinds int `json:"kinds"`
	// The number of objects that are not ready.
	Unready int `json:"unready"`
	// The number of objects whose kind does not show whether they are ready.
	Unclear int `json:"unclear"`
	// The number of objects that are being deleted. They are not listed.
	Terminating int `json:"terminating"`
}

type unreadyObject struct {
	objectName
	// It will not become ready without intervention.
	Failed bool `json:"failed,omitempty"`
	// Why the object is not ready, for programs.
	Reason string `json:"reason,omitempty"`
	// Why the object is not ready, for people.
	Message string `json:"message,omitempty"`
	// The causes, the most important first.
	Causes []event.Cause `json:"causes,omitempty"`
}

type remarkOf struct {
	objectName
	event.Remarked
}

// NewUnready returns the document of the "unready" verb.
func NewUnready(b output.Base) output.Results {
	return output.AtEnd(func(u event.Unready) error {
		if b.Format == output.JUnit {
			return writeSuite(b, unreadySuite(u))
		}
		return writeDocument(b, unreadyOf(b, u))
	})
}

func unreadyOf(b output.Base, u event.Unready) unreadyResult {
	out := unreadyResult{
		header: newHeader(b, "UnreadyResult"), Namespace: u.Namespace, Objects: []unreadyObject{}, Unread: unreadOf(u.Unread),
		Summary: unreadySummary{u.Objects, u.Kinds, len(u.Found), u.Unclear(), u.Terminating},
	}
	for _, root := range u.Roots {
		out.Roots = append(out.Roots, rootedOf(root))
	}
	for _, o := range u.Found {
		out.Objects = append(out.Objects, unreadyObject{nameOf(o.Ref), o.Failed, o.Reason, o.Message, o.Causes})
	}
	for _, r := range u.Remarks {
		out.Remarks = append(out.Remarks, remarkOf{nameOf(r.Ref), r})
	}
	return out
}

// unreadySuite has a case for each object that is not ready, each remark and each kind that was not
// read.
func unreadySuite(u event.Unready) junitSuite {
	suite := junitSuite{Name: "unready", Log: xmlText(format.Unready(u, len(u.Roots)))}
	for _, o := range u.Found {
		c := newCase("unready", nameOf(o.Ref), "", nil)
		c.Failure = &junitProblem{Type: "unready", Message: strings.Join(format.Lines(o.Message), " "), Text: xmlText(causeTexts(o.Causes))}
		suite.add(c)
	}
	for _, r := range u.Remarks {
		suite.add(newCase("unready", nameOf(r.Ref), "", remarkTexts([]event.Remarked{r})))
	}
	for _, one := range u.Unread {
		c := newCase("unready", nameOf(one.Ref), "", nil)
		c.Error = problem(event.Unknown, faultOf(one.Err), nil)
		suite.add(c)
	}
	return suite
}

// NewUnreadyMarkdown returns the Markdown output of the "unready" verb.
func NewUnreadyMarkdown(b output.Base) output.Results {
	return output.Printed(b, unreadyMarkdown)
}

// unreadyMarkdown writes one row for each root cause, with the objects that it holds up. Objects without a root
// have rows of their own.
func unreadyMarkdown(u event.Unready) string {
	const named = 5
	var b strings.Builder
	rooted := map[string]bool{}
	row := func(objects []string, cause event.Cause) {
		if b.Len() == 0 {
			b.WriteString("| Not ready | Cause | Next |\n| --- | --- | --- |\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", inMarkdown(objects...), inMarkdown(strings.TrimPrefix(cause.Code+": "+cause.Message, ": ")), inMarkdown(cause.Next))
	}
	for _, root := range u.Roots {
		var names []string
		for i, ref := range root.Holds {
			rooted[ref.String()] = true
			switch {
			case i < named:
				names = append(names, format.Name(ref))
			case i == named:
				names = append(names, fmt.Sprintf("and %d more", len(root.Holds)-named))
			}
		}
		row(names, root.Cause)
	}
	for _, o := range u.Found {
		if !rooted[o.Ref.String()] {
			row([]string{format.Name(o.Ref)}, event.Cause{Message: o.Message})
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	for _, r := range u.Remarks {
		b.WriteString("- " + inMarkdown(r.Ref.String()+": "+r.Text) + "\n")
	}
	if len(u.Remarks) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(inMarkdown(format.Unready(u, len(u.Roots))...) + "\n")
	for _, one := range u.Unread {
		b.WriteString("\n" + inMarkdown("not read: "+one.Ref.String()+": "+one.Err.Error()) + "\n")
	}
	return b.String()
}

package document

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type deprecatedUse struct {
	objectName
	Path         string                `json:"path,omitempty"`
	Message      string                `json:"message"`
	Goes         bool                  `json:"goes"`
	Since        string                `json:"since,omitempty"`
	Removed      string                `json:"removed,omitempty"`
	Use          string                `json:"use,omitempty"`
	Writers      []managedfields.Owner `json:"writers,omitempty"`
	Sources      []string              `json:"sources,omitempty"`
	HelmReleases []event.HelmRevision  `json:"helmReleases,omitempty"`
}

type deprecatedResult struct {
	header
	Release    string                 `json:"release"`
	Server     string                 `json:"server,omitempty"`
	Namespace  string                 `json:"namespace,omitempty"`
	Objects    []deprecatedUse        `json:"objects"`
	OldEntries int                    `json:"oldEntries"`
	Stored     []event.StoredVersions `json:"storedVersions,omitempty"`
	Unread     []unread               `json:"unread,omitempty"`
	LeftOut    []*fault               `json:"leftOut,omitempty"` // of the input
}

// NewDeprecated returns the document of the "deprecated" verb.
func NewDeprecated(b output.Base) output.Results {
	return output.AtEnd(func(d event.Deprecations) error {
		if b.Format == output.JUnit {
			return writeSuite(b, deprecatedSuite(b, d))
		}
		return writeDocument(b, deprecatedOf(b, d))
	})
}

func deprecatedOf(b output.Base, d event.Deprecations) deprecatedResult {
	out := deprecatedResult{
		header: newHeader(b, "DeprecatedResult"), Release: d.Release, Server: d.Server, Namespace: d.Namespace,
		Objects: []deprecatedUse{}, OldEntries: d.Left, Stored: d.Stored, Unread: unreadOf(d.Unread), LeftOut: faultsOf(b.State.LeftOut),
	}
	for _, u := range d.Uses {
		use := ""
		if !u.Use.Empty() {
			use = u.Use.GroupVersion().String() + "/" + u.Use.Kind
		}
		var sources []string
		for _, s := range u.Sources {
			sources = append(sources, s.String())
		}
		out.Objects = append(out.Objects, deprecatedUse{
			nameOf(u.Ref), u.Path, u.Text, u.Goes, u.Since, u.Removed, use, u.Writers, sources, u.Releases,
		})
	}
	return out
}

func deprecatedSuite(b output.Base, d event.Deprecations) junitSuite {
	suite := junitSuite{Name: "deprecated"}
	for _, u := range d.Uses {
		places := format.DeprecatedPlaces(u, b.Now())
		source := ""
		if len(u.Sources) > 0 {
			source = sourceOf(u.Sources[0])
		}
		c := newCase("deprecated", nameOf(u.Ref), source, nil)
		if u.Goes {
			c.Failure = &junitProblem{Type: "removed", Message: text.Printable(u.Text), Text: xmlText(places)}
		} else {
			c.Log = xmlText(append([]string{u.Text}, places...))
		}
		suite.add(c)
	}
	for _, s := range d.Stored {
		suite.add(junitCase{Class: "deprecated.storedVersions", Name: text.Printable(s.Definition), Log: xmlText(s.Lines())})
	}
	for _, u := range d.Unread {
		c := newCase("deprecated", nameOf(u.Ref), "", nil)
		c.Error = problem(event.Unknown, faultOf(u.Err), nil)
		suite.add(c)
	}
	return suite
}

// NewDeprecatedMarkdown returns the Markdown output of the "deprecated" verb.
func NewDeprecatedMarkdown(b output.Base) output.Results {
	return output.Printed(b, func(d event.Deprecations) string { return deprecatedMarkdown(b, d) })
}

func deprecatedMarkdown(base output.Base, d event.Deprecations) string {
	var b strings.Builder
	if len(d.Uses)+len(d.Stored) > 0 {
		b.WriteString("| Removed in | Object | Deprecated | Where |\n| --- | --- | --- | --- |\n")
	}
	for _, u := range d.Uses {
		goes := ""
		if u.Goes {
			goes = u.Removed
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", goes, inMarkdown(format.Name(u.Ref)), inMarkdown(u.Text),
			inMarkdown(format.DeprecatedPlaces(u, base.Now())...))
	}
	for _, s := range d.Stored {
		fmt.Fprintf(&b, "|  | %s | %s |  |\n", inMarkdown(format.DefinitionName(s.Definition)), inMarkdown(s.Lines()...))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(inMarkdown(format.Deprecations(d, len(base.State.LeftOut))) + "\n")
	for _, f := range base.State.LeftOut {
		b.WriteString("\n" + inMarkdown("not read: "+f.Error()) + "\n")
	}
	for _, u := range d.Unread {
		b.WriteString("\n" + inMarkdown("not read: "+u.Ref.String()+": "+u.Err.Error()) + "\n")
	}
	return b.String()
}

func inMarkdown(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;")
	var out []string
	for _, line := range lines {
		out = append(out, escape.Replace(text.Printable(line)))
	}
	return strings.Join(out, "<br>")
}

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
	// The field, if a field is deprecated.
	Path string `json:"path,omitempty"`
	// The deprecation in one sentence, for people.
	Message string `json:"message"`
	// True if the release removes the API.
	Goes bool `json:"goes"`
	// The release that deprecated it.
	Since string `json:"since,omitempty"`
	// The release that removes it.
	Removed string `json:"removed,omitempty"`
	// The replacement.
	Use string `json:"use,omitempty"`
	// The managers that write it.
	Writers []managedfields.Owner `json:"writers,omitempty"`
	// The files that use it.
	Sources []string `json:"sources,omitempty"`
	// The Helm releases that use it.
	HelmReleases []event.HelmRevision `json:"helmReleases,omitempty"`
}

type deprecatedResult struct {
	header
	// The release of Kubernetes that was asked about.
	Release string `json:"release"`
	// The server's release.
	Server string `json:"server,omitempty"`
	// The namespace, if only one was examined.
	Namespace string `json:"namespace,omitempty"`
	// The uses. Those of APIs that the release removes come first.
	Objects []deprecatedUse `json:"objects"`
	// How many managed-fields entries are at deprecated versions whose managers no longer write those
	// versions.
	OldEntries int `json:"oldEntries"`
	// Deprecated versions in which objects are stored, each with the command to migrate them.
	Stored []event.StoredVersions `json:"storedVersions,omitempty"`
	// Kinds that could not be read.
	Unread []unread `json:"unread,omitempty"`
	// Files that could not be read.
	LeftOut []*fault `json:"leftOut,omitempty"`
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

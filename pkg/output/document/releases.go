package document

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type releasesResult struct {
	header
	// The namespace, if only one was examined.
	Namespace string `json:"namespace,omitempty"`
	// The releases; docs/releases.md explains their fields in full.
	Releases []releaseResult `json:"releases"`
	// Where releases could not be read.
	Unread []unread `json:"unread,omitempty"`
}

type releaseResult struct {
	// The namespace of the release.
	Namespace string `json:"namespace"`
	// The name of the release.
	Name string `json:"name"`
	// Where Helm stores the release: secret or configmap, as in HELM_DRIVER.
	Driver string `json:"driver,omitempty"`
	// A release of this name is also stored in the other place.
	Twice bool `json:"twice,omitempty"`
	// The newest revision.
	Revision int `json:"revision"`
	// The status of that revision in Helm, such as deployed or failed.
	Status string `json:"status,omitempty"`
	// The field manager of the upgrade that is forecast, such as helm or helm-controller.
	Manager string `json:"manager"`
	// True if Flux upgrades the release, which forces conflicts.
	Flux bool `json:"flux,omitempty"`
	// True if the next upgrade is server-side.
	ServerSide bool `json:"serverSide"`
	// Which manifest was read.
	Manifest string `json:"manifest"`
	// The number of objects in the manifest.
	Objects int `json:"objects"`
	// The expected result of the next upgrade: one of ready, fails and unknown.
	Forecast event.UpgradeForecast `json:"forecast"`
	// Conflicts are those of a server-side upgrade, also for a release that is upgraded client-side.
	Conflicts []releaseConflicts `json:"conflicts"`
	// The fields that a client-side upgrade sets.
	Overwrites []releaseConflicts `json:"overwrites,omitempty"`
	// The fields of other owners that a client-side upgrade removes; yours is the value afterwards.
	Removes []releaseConflicts `json:"removes,omitempty"`
	// Why Helm refuses every upgrade, such as an operation in progress.
	Refused *fault `json:"refused,omitempty"`
	// The objects that Helm or the server refuses for another reason than a conflict.
	Refusals []unread `json:"refusals,omitempty"`
	// The objects that are refused only with --server-side=true.
	RefusalsServerSide []unread `json:"refusalsServerSide,omitempty"`
	// The objects that could not be read.
	Unread []unread `json:"unread,omitempty"`
	// The objects that the upgrade creates again.
	Gone []objectName `json:"gone,omitempty"`
	// The objects that the upgrade deletes, because the next manifest lacks them.
	Deleted []objectName `json:"deletes,omitempty"`
	// The objects whose replicas the upgrade sets, although an autoscaler sets them, too.
	Autoscaled []objectName `json:"autoscaled,omitempty"`
	// The objects that carry the marks of another release.
	Foreign []foreignObject `json:"foreign,omitempty"`
	// The objects that only failed revisions contain.
	Orphans []orphan `json:"orphans,omitempty"`
	// The fields that only a failed revision set, and that the upgrade does not change.
	Leftovers []leftover `json:"leftovers,omitempty"`
	// The commands that settle the conflicts, and that keep objects which another release has taken over.
	// A step that is not a command, such as a field to remove from the chart, is a sentence.
	Next []string `json:"next,omitempty"`
}

type releaseConflicts struct {
	objectName
	// The fields, each with both values and the owners.
	Paths []contestedPath `json:"paths"`
}

type foreignObject struct {
	objectName
	// The release that the object belongs to by its marks.
	Owner string `json:"owner"`
	// The owner is not installed.
	Absent bool `json:"absent,omitempty"`
}

type orphan struct {
	objectName
	// The last failed revision with the object.
	Revision int `json:"revision"`
	// The next manifest contains it. Otherwise Helm neither updates nor deletes it.
	Listed bool `json:"listed,omitempty"`
}

type leftover struct {
	objectName
	// The fields.
	Paths []string `json:"paths"`
	// The last failed revision that set them.
	Revision int `json:"revision"`
	// The next manifest sets them to the same values.
	Listed bool `json:"listed,omitempty"`
	// An upgrade with --server-side=true does not remove them either.
	Stays bool `json:"stays,omitempty"`
}

// NewReleases returns the document of the "releases" verb.
func NewReleases(b output.Base) output.Results {
	return output.AtEnd(func(f event.Releases) error {
		if b.Format == output.JUnit {
			return writeSuite(b, releasesSuite(b, f))
		}
		out := releasesResult{header: newHeader(b, "ReleasesResult"), Namespace: f.Namespace, Releases: []releaseResult{}, Unread: unreadOf(f.Unread)}
		for _, r := range f.Found {
			out.Releases = append(out.Releases, releaseOf(r))
		}
		return writeDocument(b, out)
	})
}

func releaseOf(r event.Release) releaseResult {
	out := releaseResult{
		Namespace: r.Namespace, Name: r.Name, Driver: r.Driver, Twice: r.Twice, Revision: r.Revision, Status: r.Status, Manager: r.Manager, Flux: r.Flux, ServerSide: r.ServerSide,
		Manifest: r.Manifest, Objects: r.Objects, Forecast: r.Forecast, Conflicts: orEmpty(releaseConflictsOf(r.Conflicts)),
		Overwrites: releaseConflictsOf(r.Overwrites), Removes: releaseConflictsOf(r.Removes), Refused: faultOf(r.Refused), Refusals: unreadOf(r.Refusals), RefusalsServerSide: unreadOf(r.RefusalsServerSide), Unread: unreadOf(r.Unread),
		Gone: namesOf(r.Gone), Deleted: namesOf(r.Deleted), Autoscaled: namesOf(r.Autoscaled), Next: r.Next,
	}
	for _, f := range r.Foreign {
		out.Foreign = append(out.Foreign, foreignObject{nameOf(f.Ref), f.Owner, f.Absent})
	}
	for _, o := range r.Orphans {
		out.Orphans = append(out.Orphans, orphan{nameOf(o.Ref), o.Revision, o.Listed})
	}
	for _, l := range r.Leftovers {
		out.Leftovers = append(out.Leftovers, leftover{nameOf(l.Ref), textsOf(l.Paths), l.Revision, l.Listed, l.Stays})
	}
	return out
}

func namesOf(refs []object.Ref) []objectName {
	var names []objectName
	for _, ref := range refs {
		names = append(names, nameOf(ref))
	}
	return names
}

func releaseConflictsOf(all []event.ObjectConflicts) []releaseConflicts {
	var out []releaseConflicts
	for _, o := range all {
		out = append(out, releaseConflicts{nameOf(o.Ref), contestedOf(o.Conflicts)})
	}
	return out
}

func releasesSuite(b output.Base, f event.Releases) junitSuite {
	suite := junitSuite{Name: "releases"}
	for _, r := range f.Found {
		c := junitCase{Class: "releases", Name: text.Printable(r.Namespace + "/" + r.Name)}
		details := format.ReleaseLines(r, b.Now(), nil)
		problem := &junitProblem{Type: string(r.Forecast), Message: format.ReleaseForecast(r), Text: xmlText(details)}
		switch r.Forecast {
		case event.UpgradeFails:
			c.Failure = problem
		case event.UpgradeUnknown:
			c.Error = problem
		case event.UpgradeReady:
			c.Log = xmlText(details)
		}
		suite.add(c)
	}
	for _, u := range f.Unread {
		c := newCase("releases", nameOf(u.Ref), "", nil)
		c.Error = problem(event.Unknown, faultOf(u.Err), nil)
		suite.add(c)
	}
	return suite
}

// NewReleasesMarkdown returns the Markdown output of the "releases" verb.
func NewReleasesMarkdown(b output.Base) output.Results {
	return output.Printed(b, func(f event.Releases) string { return releasesMarkdown(b, f) })
}

func releasesMarkdown(base output.Base, f event.Releases) string {
	var b strings.Builder
	if len(f.Found) > 0 {
		b.WriteString("| Release | Method | Next upgrade | Details |\n| --- | --- | --- | --- |\n")
	}
	for _, r := range f.Found {
		head := format.ReleaseHead(r)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", inMarkdown(head[0]), head[1], inMarkdown(head[4]),
			inMarkdown(format.ReleaseLines(r, base.Now(), nil)...))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(inMarkdown(format.Releases(f)) + "\n")
	for _, u := range f.Unread {
		b.WriteString("\n" + inMarkdown("not read: "+u.Ref.String()+": "+u.Err.Error()) + "\n")
	}
	return b.String()
}

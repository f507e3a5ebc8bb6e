package document

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewDiff returns the document of a diff.
func NewDiff(b output.Base) output.Results {
	complete := func(o *comparedObject, x extras) {
		o.Warnings, o.Remarks, o.Decided, o.Digest = x.warnings, x.remarks, x.decided, x.digest.Digest
		o.Content, o.Version = x.digest.Content, x.digest.Version
	}
	return gather(b, "DiffResult", output.DiffActions(), only(comparedOf), complete, diffSuite)
}

type comparedObject struct {
	objectName
	// The result that apply would have: created, configured (values would change), recreated (deleted
	// and created again), shared (only owners would change), unchanged, or unknown. With --prune, for an
	// object that is no longer in the input: pruned (deleted) or kept.
	Action event.Action `json:"action"`
	// The digest of the object's change, for apply --confirm.
	Digest string `json:"digest,omitempty"`
	// The digest of the fields of an object that would be created.
	Content string `json:"content,omitempty"`
	// The UID of an existing object that would change or be pruned.
	UID types.UID `json:"uid,omitempty"`
	// A digest of the version of an object with values of Secrets.
	Version string `json:"version,omitempty"`
	// An explanation, such as why the server did not check the object.
	Reason string `json:"reason,omitempty"`
	// File and line of the manifest.
	Source string `json:"source,omitempty"`
	// Why the result is unknown, or why the server would refuse the object.
	Error *fault `json:"error,omitempty"`
	// The server's warnings.
	Warnings []string `json:"warnings,omitempty"`
	// Remarks about parts of the object that will not work; see docs/preflight.md.
	Remarks []event.Remarked `json:"remarks,omitempty"`
	// The changed paths.
	Changes []changedPath `json:"changes,omitempty"`
	// Managers whose fields you would own.
	Adopted []string `json:"adopted,omitempty"`
	// Set if only owners change.
	Sharing *managedfields.Sharing `json:"sharing,omitempty"`
	// The paths of an existing object whose owners change, also if their values do.
	Ownership []event.OwnerChange `json:"ownership,omitempty"`
	// The paths that were left to their owners.
	Yielded []string `json:"yielded,omitempty"`
	// Values that are kept because others set them by design, such as the replicas of an autoscaler.
	Left []contestedPath `json:"left,omitempty"`
	// With -v 1: what decided each path.
	Decided []decidedEntry `json:"decided,omitempty"`
}

func comparedOf(c event.Compared) comparedObject {
	return comparedObject{
		objectName: nameOf(c.Ref), Action: c.Action.Applied(), UID: c.UID, Reason: c.Reason, Source: sourceOf(c.Source), Error: faultOf(c.Err),
		Changes: changesOf(c.Changes), Adopted: c.Adopted, Sharing: c.Sharing, Ownership: c.Ownership, Yielded: textsOf(c.Yielded), Left: contestedOf(c.Left),
	}
}

func diffSuite(result result[comparedObject]) junitSuite {
	suite := junitSuite{Name: "diff", Log: xmlText(slices.Concat(result.Warnings, remarkTexts(result.Remarks)))}
	for _, o := range result.Objects {
		c := newCase("diff", o.objectName, o.Source, slices.Concat(o.Warnings, remarkTexts(o.Remarks)))
		switch o.Action { //nolint:exhaustive // all others went well
		case event.Created, event.Configured, event.Recreated, event.Pruned:
			c.Failure = problem(o.Action, o.Error, changedLines(o.Changes))
		case event.Shared:
			c.Failure = problem(o.Action, o.Error, sharedLines(o))
		case event.Unknown:
			c.Error = problem(o.Action, o.Error, []string{o.Reason})
		}
		suite.add(c)
	}
	return suite
}

func sharedLines(o comparedObject) []string {
	if o.Sharing == nil {
		return o.Adopted
	}
	return []string{o.Sharing.String()}
}

func changedLines(changes []changedPath) []string {
	var text []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s", c.Change, c.Path)
		if c.From != nil {
			line += ", from " + format.Value(*c.From)
		}
		if c.To != nil {
			line += ", to " + format.Value(*c.To)
		}
		text = append(text, line)
	}
	return text
}

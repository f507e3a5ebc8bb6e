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
	Action   event.Action           `json:"action"`
	Digest   string                 `json:"digest,omitempty"`
	Content  string                 `json:"content,omitempty"`
	UID      types.UID              `json:"uid,omitempty"`
	Version  string                 `json:"version,omitempty"`
	Reason   string                 `json:"reason,omitempty"`
	Source   string                 `json:"source,omitempty"`
	Error    *fault                 `json:"error,omitempty"`
	Warnings []string               `json:"warnings,omitempty"`
	Remarks  []event.Remarked       `json:"remarks,omitempty"`
	Changes  []changedPath          `json:"changes,omitempty"`
	Adopted  []string               `json:"adopted,omitempty"`
	Sharing  *managedfields.Sharing `json:"sharing,omitempty"`
	Yielded  []string               `json:"yielded,omitempty"`
	Left     []contestedPath        `json:"left,omitempty"`
	Decided  []decidedEntry         `json:"decided,omitempty"`
}

func comparedOf(c event.Compared) comparedObject {
	return comparedObject{
		objectName: nameOf(c.Ref), Action: c.Action.Applied(), UID: c.UID, Reason: c.Reason, Source: sourceOf(c.Source), Error: faultOf(c.Err),
		Changes: changesOf(c.Changes), Adopted: c.Adopted, Sharing: c.Sharing, Yielded: textsOf(c.Yielded), Left: contestedOf(c.Left),
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

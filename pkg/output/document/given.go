package document

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// NewGiven returns the document of a give.
func NewGiven(b output.Base) output.Results {
	d := gather(b, "GiveResult", output.GiveActions(), only(givenOf), func(o *givenObject, x extras) { o.Warnings = x.warnings }, giveSuite)
	d.result.DryRun = b.DryRun
	return d
}

type givenObject struct {
	objectName
	// One of given, unchanged, failed and unknown.
	Action event.Action `json:"action"`
	// An explanation of the action.
	Reason string `json:"reason,omitempty"`
	// Why the object failed, or why the result is unknown.
	Error *fault `json:"error,omitempty"`
	// The server's warnings.
	Warnings []string `json:"warnings,omitempty"`
	// The fields that changed owners.
	Fields []movedField `json:"fields,omitempty"`
	// The fields that were left, each with the reason.
	Left []leftField `json:"left,omitempty"`
	// The receiver's next apply, if its manifest is known.
	Next *nextApply `json:"nextApply,omitempty"`
}

type movedField struct {
	// The path of the field.
	Path string `json:"path"`
	// The owner that gave the field.
	From managedfields.Owner `json:"from"`
	// The receiver. Absent if the field was released.
	To *managedfields.Owner `json:"to,omitempty"`
	// The owner in from also keeps the field.
	Shared bool `json:"shared,omitempty"`
}

type leftField struct {
	// The path of the field.
	Path string `json:"path"`
	// The owner that keeps the field.
	Owner managedfields.Owner `json:"owner"`
	// The reason, for people.
	Why string `json:"why"`
}

type nextApply struct {
	// The receiver.
	Manager string `json:"manager"`
	// Manifest names the manifest that was read, if it was not passed by the user.
	Manifest string `json:"manifest,omitempty"`
	// The conflicts of the next apply before the transfer.
	Before []contestedPath `json:"conflictsBefore"`
	// The conflicts of the next apply after the transfer.
	After []contestedPath `json:"conflictsAfter"`
	// How many fields of the receiver's manifest others own before the transfer.
	Guarded int `json:"guardedBefore"`
	// How many fields of the receiver's manifest others own after the transfer.
	StillGuarded int `json:"guardedAfter"`
	// Values that the next apply overwrites.
	Overwrites []changedPath `json:"overwrites,omitempty"`
	// Values that the next apply removes.
	Removes []string `json:"removes,omitempty"`
	// The server refuses the next apply for another reason than a conflict.
	Refused *fault `json:"refused,omitempty"`
	// Why the next apply cannot be predicted.
	Error *fault `json:"error,omitempty"`
}

func givenOf(g event.Given) givenObject {
	o := givenObject{objectName: nameOf(g.Ref), Action: g.Action, Reason: g.Reason, Error: faultOf(g.Err)}
	for _, m := range g.Moves {
		for _, p := range m.Paths {
			field := movedField{Path: p.String(), From: m.From, Shared: m.Shared}
			if m.To != (managedfields.Owner{}) {
				to := m.To
				field.To = &to
			}
			o.Fields = append(o.Fields, field)
		}
	}
	for _, l := range g.Left {
		for _, p := range l.Paths {
			o.Left = append(o.Left, leftField{p.String(), l.Owner, l.Why})
		}
	}
	if n := g.Next; n != nil {
		o.Next = &nextApply{
			Manager: n.Manager, Manifest: n.Manifest, Before: orEmpty(contestedOf(n.Before)), After: orEmpty(contestedOf(n.After)),
			Guarded: n.Guarded, StillGuarded: n.StillGuarded, Overwrites: changesOf(n.Overwrites), Removes: textsOf(n.Removes), Refused: faultOf(n.Refused), Error: faultOf(n.Err),
		}
	}
	return o
}

func giveSuite(result result[givenObject]) junitSuite {
	suite := junitSuite{Name: "give", Log: xmlText(result.Warnings)}
	for _, o := range result.Objects {
		c := newCase("give", o.objectName, "", o.Warnings)
		switch o.Action {
		case event.Failed:
			c.Failure = problem(o.Action, o.Error, leftLines(o.Left))
		case event.Unknown:
			c.Error = problem(o.Action, o.Error, nil)
		default:
			if o.Next != nil && (len(o.Next.After) > 0 || o.Next.Refused != nil) {
				c.Failure = problem(o.Action, o.Next.Refused, afterLines(o.Next))
			}
		}
		suite.add(c)
	}
	return suite
}

func afterLines(n *nextApply) []string {
	var lines []string
	for _, c := range n.After {
		lines = append(lines, fmt.Sprintf("%s's next apply conflicts at %s", n.Manager, c.Path))
	}
	return lines
}

func leftLines(left []leftField) []string {
	var lines []string
	for _, l := range left {
		lines = append(lines, fmt.Sprintf("left %s: %s", l.Path, l.Why))
	}
	return lines
}

package table

import (
	"reflect"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// manyUnmet is the number of objects with one cause that are named.
const manyUnmet = 4

// unmetLines prints objects that did not meet their conditions. If several wait for the same
// reason, only the first of them is followed by its causes, unless the user asked for all.
func unmetLines(b output.Base, out *strings.Builder, all []event.Waited, width int) {
	var doubts format.Doubts
	for len(all) > 0 {
		first := all[0]
		var same, others []event.Waited
		for _, w := range all[1:] {
			if !b.Verbose && haveOneRoot(first, w) {
				same = append(same, w)
			} else {
				others = append(others, w)
			}
		}
		reason := "for the same reason"
		if len(first.Causes) == 0 {
			reason = "in the same state"
			if len(same) < manyUnmet { // Their states are short.
				same, others = nil, all[1:]
			}
		}
		first.Causes = doubts.Once(first.Causes)
		waitedLine(b, out, first, width)
		word := b.Paint.Action(first.Action, format.Pad(string(first.Action), width)) + "  "
		for i, w := range same {
			if i == manyUnmet-2 && len(same) >= manyUnmet {
				out.WriteString(word + text.Count(len(same)-i, "more object") + ": " + reason + " (-v 1 names each)\n")
				break
			}
			out.WriteString(word + format.Name(w.Ref) + ": " + reason + "\n")
		}
		all = others
	}
}

// haveOneRoot reports whether object b waits for the same reason as a: they have the same root, and all
// causes of b are printed for a. Without any cause, they must be in the same state. How many Pods of an
// object are affected, and which ones, does not matter.
func haveOneRoot(a, b event.Waited) bool {
	sameCondition := func(a, b event.Condition) bool {
		return a.For == b.For && a.Met == b.Met && (a.For == "ready" || a.Message == b.Message && len(a.Values)+len(b.Values) == 0)
	}
	if len(a.Causes)+len(b.Causes) == 0 {
		sameState := func(a, b event.Condition) bool {
			return a.For == b.For && a.Met == b.Met && a.Message == b.Message && a.Err == nil && b.Err == nil && reflect.DeepEqual(a.Values, b.Values)
		}
		return a.Action == b.Action && a.Note == b.Note && a.Err == nil && b.Err == nil && slices.EqualFunc(a.Conditions, b.Conditions, sameState)
	}
	return a.Action == b.Action && a.Note == b.Note && slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) &&
		areAmong(format.Brief(b.Causes), format.Brief(a.Causes))
}

// areAmong reports whether an object's causes are all among the printed ones of another, and whether the
// first one that prevents readiness is the same.
func areAmong(causes, printed []event.Cause) bool {
	same := func(a, b event.Cause) bool {
		return a.Code == b.Code && a.BlockedBy == b.BlockedBy && a.Next == b.Next && a.Risk == b.Risk &&
			len(a.Log)+len(b.Log) == 0 && a.Shared() == b.Shared()
	}
	isRoot := func(c event.Cause) bool { return !c.Doubt && !c.Passing }
	mine, theirs := slices.IndexFunc(causes, isRoot), slices.IndexFunc(printed, isRoot)
	if mine < 0 || theirs < 0 || !same(causes[mine], printed[theirs]) {
		return false
	}
	return !slices.ContainsFunc(causes, func(c event.Cause) bool {
		return !slices.ContainsFunc(printed, func(p event.Cause) bool { return same(c, p) })
	})
}

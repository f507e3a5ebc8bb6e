package output

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/event"

// ApplyActions are the results of an apply, in the order in which they are counted.
func ApplyActions() []event.Action {
	return []event.Action{
		event.Created, event.Configured, event.Recreated, event.Unchanged, event.InConflict,
		event.Failed, event.Skipped, event.Pruned, event.Kept,
	}
}

// DiffActions are the results of a diff.
func DiffActions() []event.Action {
	return []event.Action{event.Create, event.Update, event.Recreate, event.Share, event.Delete, event.None, event.Unknown}
}

// DeleteActions are the results of a delete.
func DeleteActions() []event.Action {
	return []event.Action{event.Gone, event.Remains, event.Absent, event.Failed, event.Skipped, event.Unknown, event.Kept}
}

// GiveActions are the results of a give.
func GiveActions() []event.Action {
	return []event.Action{event.Handed, event.Unchanged, event.Failed, event.Unknown}
}

// WaitActions are the results of a wait.
func WaitActions() []event.Action {
	return []event.Action{event.Met, event.Failed, event.TimedOut, event.Unmet, event.Gone, event.Unselected, event.Unknown}
}

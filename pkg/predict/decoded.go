package predict

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// decoded has the managed fields of the states of one object. Several questions about an apply need
// them, and decoding them takes a fifth of the time of a run.
type decoded struct {
	states []decodedState
}

type decodedState struct {
	of      *unstructured.Unstructured
	entries []managedfields.Entry
	err     error
}

// Reuse makes the questions about this prediction decode the managed fields of each state once, until the
// returned function is called. A run has many predictions, and decoded fields are large, so they are not
// kept for longer. The states must not be modified meanwhile.
func (in *Prediction) Reuse() (end func()) {
	if in.decoded != nil {
		return func() {}
	}
	in.decoded = &decoded{}
	return func() { in.decoded = nil }
}

// bothEntries returns the managed fields of the live object and of the server's answer.
func (in *Prediction) bothEntries(answer *unstructured.Unstructured) (before, after []managedfields.Entry, err error) {
	if before, err = in.Entries(in.Live); err != nil {
		return nil, nil, fmt.Errorf("live object: %w", err)
	}
	if after, err = in.Entries(answer); err != nil {
		return nil, nil, fmt.Errorf("the server's answer: %w", err)
	}
	return before, after, nil
}

// Entries is [managedfields.Entries] for a state of the object.
func (in *Prediction) Entries(u *unstructured.Unstructured) ([]managedfields.Entry, error) {
	if in.decoded == nil || u == nil {
		return managedfields.Entries(u)
	}
	for _, s := range in.decoded.states {
		if s.of == u {
			return s.entries, s.err
		}
	}
	entries, err := managedfields.Entries(u)
	in.decoded.states = append(in.decoded.states, decodedState{u, entries, err})
	return entries, err
}

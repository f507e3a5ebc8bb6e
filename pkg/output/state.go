package output

import (
	"cmp"
	"math"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// State tracks a run through its events: all phases and the current one, the results by kind, and
// each object's place in the plan.
type State struct {
	// Begun means that a plan or a result has arrived.
	Begun   bool
	Phases  []event.Phase
	Current int // index into phases, -1 before the first
	places  map[object.Key]Place
	// Total is the number of objects in the plan, and 0 before there is a plan. unpruned means that
	// a former member of the set could not be deleted.
	Total, inPhase, Done int
	Tally                map[event.Action]int
	unpruned             bool
	// Sharing counts the fields whose owners change but whose values do not. Sharers counts the
	// objects with such fields.
	Sharing managedfields.Sharing
	Sharers int
	// Waits means that the results come from a wait.
	Waits   bool
	Waited  map[event.Action]int
	LeftOut []error
	Hooks   []event.Hook
	// NewSet is the parent of a set that this run creates, if any.
	NewSet *object.Ref
	Word   Word
}

// Word is the word for good results in the progress line, such as "applied".
type Word struct {
	Text string
	Good []event.Action
	// Awaited means that only good results count as progress. Other results, such as timeouts, do
	// not.
	Awaited bool
}

// NewState returns the state of a run that has not begun. waits means that the run's results come
// from a wait.
func NewState(results Word, waits bool) *State {
	return &State{
		Current: -1, places: map[object.Key]Place{}, Tally: map[event.Action]int{}, Waited: map[event.Action]int{},
		Word: results, Waits: waits,
	}
}

// Handle receives every event, in order.
func (s *State) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Planned:
		s.plan(e)
	case event.PhaseStarted:
		s.Current, s.inPhase = e.Index, 0
	case event.Applied:
		if e.Departed {
			s.departed(e.Action)
			return
		}
		s.result(e.Ref, e.Action)
		s.share(e.Sharing)
	case event.Compared:
		if e.Departed {
			s.departed(e.Action)
			return
		}
		s.result(e.Ref, e.Action)
		s.share(e.Sharing)
	case event.Deleted:
		s.result(e.Ref, e.Action)
	case event.Given:
		s.result(e.Ref, e.Action)
	case event.Owned, event.Set, event.Surveyed, event.Unmanaged, event.PastChanges, event.Past, event.Deletions, event.Deprecations, event.Fights, event.Unready, event.Releases, event.Migrated, event.MigrationEnded:
		s.Begun = true
	case event.LeftOut:
		s.LeftOut = append(s.LeftOut, e.Err)
	case event.SetBegun:
		s.NewSet = &e.Parent
	case event.HooksLeftOut:
		s.Hooks = append(s.Hooks, e.Hooks...)
	case event.Awaited:
		s.Total++
	case event.Waited:
		if s.Waits {
			s.result(e.Ref, e.Action)
		} else {
			s.Waited[e.Action]++
		}
	}
}

func (s *State) plan(e event.Planned) {
	s.Begun, s.Phases = true, e.Phases
	for i, phase := range e.Phases {
		s.Total += phase.Total
		for j, ref := range phase.Refs {
			s.places[ref.Key()] = Place{Phase: i, index: j}
		}
	}
}

func (s *State) result(ref object.Ref, action event.Action) {
	s.Begun = true
	s.Tally[action]++
	s.Done++
	s.inPhase++
}

func (s *State) departed(action event.Action) {
	s.Begun = true
	s.Tally[action]++
	switch action {
	case event.Failed, event.Skipped, event.Remains, event.Unknown:
		s.unpruned = true
	default:
	}
}

func (s *State) share(sharing *managedfields.Sharing) {
	if sharing != nil {
		s.Sharing = s.Sharing.Plus(*sharing)
		s.Sharers++
	}
}

// EndsPhase reports whether an event completes the results of a phase, so that they can be printed.
func (s *State) EndsPhase(e event.Event) bool {
	switch e.(type) {
	case event.PhaseStarted:
		return true
	case event.Waiting:
		phase, ok := s.Phase()
		return ok && s.inPhase >= phase.Total
	default:
		return false
	}
}

// Phase returns the current phase, if any.
func (s *State) Phase() (event.Phase, bool) {
	if s.Current < 0 || s.Current >= len(s.Phases) {
		return event.Phase{}, false
	}
	return s.Phases[s.Current], true
}

// Good returns the number of good results.
func (s *State) Good() int {
	n := 0
	for _, action := range s.Word.Good {
		n += s.Tally[action]
	}
	return n
}

// Ended returns the number of results that count as progress.
func (s *State) Ended() int {
	if s.Word.Awaited {
		return s.Good()
	}
	return s.Done
}

// WentWrong reports whether any result needs attention.
func (s *State) WentWrong() bool {
	if s.Word.Text == "" {
		return false
	}
	bad := s.unpruned || s.Good() < s.Done || s.Done < s.Total
	for action, n := range s.Waited {
		bad = bad || action != event.Met && n > 0
	}
	return bad
}

// InFlags returns a function that names objects in the form that flags expect.
func (s *State) InFlags() func(object.Ref) string {
	places := map[string]int{}
	for _, phase := range s.Phases {
		for _, ref := range phase.Refs {
			places[ref.Resource()]++
		}
	}
	return func(ref object.Ref) string {
		resource := ref.Resource()
		if places[resource] < 2 || ref.Namespace == "" {
			return text.Printable(resource)
		}
		kind := strings.TrimSuffix(resource, "/"+ref.Name)
		return text.Printable(kind + "/" + ref.Namespace + "/" + ref.Name)
	}
}

// Place returns the place of an object in the plan.
func (s *State) Place(ref object.Ref) Place {
	if p, ok := s.places[ref.Key()]; ok {
		return p
	}
	return Place{Phase: s.Current, index: math.MaxInt, beside: &ref}
}

// Ref returns the object at a place that [State.Place] returned.
func (s *State) Ref(at Place) object.Ref {
	if at.beside != nil {
		return *at.beside
	}
	return s.Phases[at.Phase].Refs[at.index]
}

// Place is a position in the plan. Objects that are not in the plan come last in their phase.
type Place struct {
	Phase, index int
	// beside is set to the object if the object is not in the plan.
	beside *object.Ref
}

func (p Place) compare(other Place) int {
	order := cmp.Or(cmp.Compare(p.Phase, other.Phase), cmp.Compare(p.index, other.index))
	if order == 0 && p.beside != nil && other.beside != nil {
		return p.beside.Compare(*other.beside)
	}
	return order
}

package setrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LeavingMembers collects the objects that an apply without a set changes although they are members
// of a set. They remain members unless --leave-set is given.
type LeavingMembers struct {
	// Leave means that the run takes the objects out of their sets.
	Leave bool

	mu   sync.Mutex
	sets map[string][]object.Ref
}

// Carry returns the label to keep on the objects; empty if the run removes the label.
func (l *LeavingMembers) Carry() string {
	if l.Leave {
		return ""
	}
	return applyset.PartOfLabel
}

// See records an object. Calls may be concurrent.
func (l *LeavingMembers) See(_ plan.Item, before, after *unstructured.Unstructured, changes bool) {
	if before == nil || after == nil || !changes {
		return
	}
	id := before.GetLabels()[applyset.PartOfLabel]
	left := after.GetLabels()[applyset.PartOfLabel] == ""
	if id == "" || left != l.Leave {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sets == nil {
		l.sets = map[string][]object.Ref{}
	}
	l.sets[id] = append(l.sets[id], object.RefOf(before))
}

// Warn warns once about each set that has members among the collected objects. The parameter
// (would) is true if nothing was written. Warn ignores failed requests.
func (l *LeavingMembers) Warn(ctx context.Context, server Server, would bool, emit func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		refs := l.sets[id]
		slices.SortFunc(refs, object.Ref.Compare)
		parent := find(ctx, server, id, refs)
		of, name := "this set", option(parent)
		if parent.Name == "" {
			of, name = "the set "+id, "--"+NameFlag+"=NAME"
		}
		emit(event.Warned{Ref: parent, Text: l.text(refs, of, name, would)})
	}
	l.sets = nil
}

func (l *LeavingMembers) text(refs []object.Ref, of, name string, would bool) string {
	const shown = 3
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.String()
	}
	how := "stay in"
	switch {
	case l.Leave && would:
		how = "would leave"
	case l.Leave:
		how = "left"
	case len(refs) == 1:
		how = "stays in"
	}
	message := fmt.Sprintf("%s %s %s: %s. ", text.Count(len(refs), "object"), how, of, text.List(names, shown))
	if l.Leave {
		return message + "They will no longer be pruned; to add them back, apply with " + name
	}
	return message + "This run does not use the set. The next run that prunes the set will delete members that are not in its input: to prevent this, apply with " + name + ", or remove the objects from the set with --" + LeaveFlag
}

func option(parent object.Ref) string {
	message := "--" + NameFlag + "=" + text.ShellQuote(Spelled(parent))
	if parent.Namespace != "" {
		message += " -n " + text.ShellQuote(parent.Namespace)
	}
	return message
}

// Spelled returns the name of the parent's set as a user in the parent's namespace would write it.
func Spelled(parent object.Ref) string {
	return strings.TrimPrefix(parent.Resource(), strings.ToLower(applyset.ParentKind().Kind)+"/")
}

// Decide lists the members and decides which of them to prune. It keeps a namespace or CRD that
// contains other owners' objects, and a volume whose claim is kept, because the volume's deletion
// would wait for the claim.
func (s *Set) Decide(ctx context.Context, of applyset.Set) (applyset.Decision, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return applyset.Decision{}, err
	}
	d := applyset.Decide(of, members)
	for _, m := range d.Holders() {
		by, err := s.claimed(ctx, m)
		switch {
		case by != "":
			d = d.Keep(m, applyset.Holds, by)
		case err != nil:
			d = d.Keep(m, applyset.Unseen, err.Error())
		}
	}
	for _, m := range slices.Clone(d.Doomed) {
		if m.Ref.GVK.Group != "" || m.Ref.GVK.Kind != "PersistentVolume" {
			continue
		}
		claim, err := s.claimOf(ctx, m)
		goes := func(other applyset.Member) bool { return other.Ref.Key() == claim }
		switch {
		case err != nil:
			d = d.Keep(m, applyset.Unseen, err.Error())
		case claim.Name != "" && !slices.ContainsFunc(d.Doomed, goes):
			d = d.Keep(m, applyset.Holds, claim.Ref().String())
		}
	}
	return d, nil
}

// claimOf returns the claim of a volume; zero if there is none.
func (s *Set) claimOf(ctx context.Context, volume applyset.Member) (object.Key, error) {
	live, err := s.Server.Get(ctx, volume.Kind, volume.Ref)
	if apierrors.IsNotFound(err) {
		return object.Key{}, nil
	}
	if err != nil {
		return object.Key{}, err
	}
	if phase, _, _ := unstructured.NestedString(live.Object, "status", "phase"); phase != "Bound" {
		return object.Key{}, nil
	}
	claim := object.Key{Kind: "PersistentVolumeClaim"}
	claim.Namespace, _, _ = unstructured.NestedString(live.Object, "spec", "claimRef", "namespace")
	claim.Name, _, _ = unstructured.NestedString(live.Object, "spec", "claimRef", "name")
	return claim, nil
}

// claimed returns another owner's object that would be deleted with a member; empty if there is
// none.
func (s *Set) claimed(ctx context.Context, m applyset.Member) (string, error) {
	live, err := s.Server.Get(ctx, m.Kind, m.Ref)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var (
		mu    sync.Mutex
		first object.Ref
		by    string
	)
	err = s.Server.Contents(ctx, live, func(u *unstructured.Unstructured) {
		whose := applyset.Owned(u, s.ID())
		if whose == "" || u.GetDeletionTimestamp() != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ref := object.RefOf(u); by == "" || ref.Compare(first) < 0 {
			first, by = ref, fmt.Sprintf("%s of %s", ref, whose)
		}
	})
	return by, err
}

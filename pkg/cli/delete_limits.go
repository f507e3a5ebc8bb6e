package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// longTimeout is how long an object may take to go that goes after all that it holds.
const longTimeout = 20 * time.Minute

// limits say how long objects may take to go.
type limits struct {
	usual, long time.Duration
	kinds       []limit
}

// limit is for one kind, as somebody typed it.
type limit struct {
	kind string
	most time.Duration
}

func parseLimits(timeout time.Duration, given bool, each []string) (limits, error) {
	l := limits{usual: timeout, long: longTimeout}
	if given {
		l.long = timeout
	}
	var errs []error
	if timeout < 0 {
		errs = append(errs, errors.New("--timeout must not be negative"))
	}
	for _, text := range each {
		kind, duration, _ := strings.Cut(text, "=")
		most, err := time.ParseDuration(duration)
		if kind == "" || err != nil || most < 0 {
			errs = append(errs, fmt.Errorf("--timeout-for must be KIND=DURATION, such as namespace=30m, not %q", text))
			continue
		}
		l.kinds = append(l.kinds, limit{kind, most})
	}
	return l, errors.Join(errs...)
}

// of is how long objects of the kind may take.
func (l limits) of(kind object.Kind) time.Duration {
	for _, one := range l.kinds {
		if one.means(kind) {
			return one.most
		}
	}
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return l.long
	}
	return l.usual
}

// means reports whether the kind is the one that was typed, with or without its
// group.
func (l limit) means(kind object.Kind) bool {
	name, group, qualified := strings.Cut(l.kind, ".")
	if qualified && !strings.EqualFold(group, kind.GVK.Group) {
		return false
	}
	return strings.EqualFold(name, kind.GVK.Kind) || strings.EqualFold(name, kind.Resource)
}

// check warns of a kind of which nothing is deleted, which may be a slip of the pen.
func (l limits) check(phases []deletion.Phase, emit func(event.Event)) {
	for _, one := range l.kinds {
		used := false
		for _, ph := range phases {
			for _, s := range ph.Sets {
				used = used || one.means(s.Kind)
			}
		}
		if !used {
			emit(event.Warned{Text: fmt.Sprintf("--timeout-for=%s: nothing of that kind is deleted", one.kind)})
		}
	}
}

package cluster

import (
	"context"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// warnings gives each warning of the server the object of its request. A handler
// that remembers the object in a field would give it to whichever object asked
// last (edge case 34).
type warnings struct {
	tell func(object.Ref, string)

	telling *sync.Mutex // guards told, and serialises tell
	told    map[warning]bool
}

type warning struct {
	ref  object.Ref
	text string
}

// miscWarning is the code of all warnings that the API server sends.
const miscWarning = 299

func newWarnings(telling *sync.Mutex, tell func(object.Ref, string)) *warnings {
	return &warnings{tell: tell, telling: telling, told: map[warning]bool{}}
}

// HandleWarningHeaderWithContext tells of a warning, once for each object: a dry
// run and the write after it warn of the same. What a list is warned of concerns
// every object that it was read for, as if each had been read by itself.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if w.tell == nil || code != miscWarning || text == "" {
		return
	}
	attempt := attemptOf(ctx)
	if attempt.quiet {
		return
	}
	about := attempt.about
	if len(about) == 0 {
		about = []object.Ref{{}}
	}
	w.telling.Lock()
	defer w.telling.Unlock()
	for _, ref := range about {
		if key := (warning{ref, text}); !w.told[key] {
			w.told[key] = true
			w.tell(ref, text)
		}
	}
}

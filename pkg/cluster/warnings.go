package cluster

import (
	"cmp"
	"context"
	"strings"
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
//
// A takeover that the webhook sees in a dry run has not happened: to find out what
// would be taken, and to tell it in our own words, is what the dry run is for.
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
		text, ours := withoutName(ref, text)
		if ours && attempt.dry.Load() && isTakeover(text) {
			continue
		}
		if key := (warning{ref, text}); !w.told[key] {
			w.told[key] = true
			w.tell(ref, text)
		}
	}
}

// withoutName takes the object's name off a warning of the webhook, which names it
// for all clients; who is told of it by us is told the object besides.
func withoutName(ref object.Ref, text string) (rest string, ours bool) {
	name := ref.GVK.Kind + "/" + cmp.Or(ref.Namespace, "-") + "/" + ref.Name
	return strings.CutPrefix(text, name+": ")
}

// isTakeover tells whether the webhook says, after the object's name, that fields
// were taken.
func isTakeover(text string) bool {
	return strings.Contains(text, " taken from ") || strings.HasSuffix(text, " more taken")
}

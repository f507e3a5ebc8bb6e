package memory

import (
	"errors"
	"math"
	"testing"
)

func TestAllowed(t *testing.T) {
	const none = math.MaxInt64
	for name, test := range map[string]struct {
		limit uint64
		err   error
		want  int64
	}{
		"a container":            {limit: 128 << 20, want: (128 << 20) / 10 * 9},
		"no limit":               {err: errors.New("no limit"), want: none},
		"unreadable":             {limit: 5, err: errors.New("no"), want: none},
		"none at all":            {want: none},
		"more than can be meant": {limit: math.MaxUint64, want: none},
	} {
		if got := allowed(test.limit, test.err); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := Allowed(); got <= 0 {
		t.Errorf("of this process: %d", got)
	}
}

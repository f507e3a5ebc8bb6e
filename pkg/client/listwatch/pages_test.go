package listwatch

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is one request for a page of a list, with its token and its limit.
type page struct {
	token string
	size  int
}

// expired returns the error for a list that has expired. It contains the token with which to
// continue the list.
func expired(next string) error {
	err := apierrors.NewResourceExpired("too old")
	err.ErrStatus.Continue = next
	return err
}

// If a list cannot be finished page by page, it is restarted once, and then read at once (edge case
// 94).
func TestPages(t *testing.T) {
	first, second, all := page{"", 10}, page{"x", 10}, page{}
	errAny := errors.New("no")
	for name, tt := range map[string]struct {
		anyTime bool
		answer  func(page) (string, error)
		want    []page
		begun   int
		err     bool
	}{
		"one page": {
			answer: func(page) (string, error) { return "", nil },
			want:   []page{first}, begun: 1,
		},
		"two pages": {
			answer: func(p page) (string, error) { return map[string]string{"": "x"}[p.token], nil },
			want:   []page{first, second}, begun: 1,
		},
		"always expired": {
			answer: func(p page) (string, error) {
				if p.token != "" {
					return "", expired("")
				}
				return "x", nil
			},
			want: []page{first, second, first, second, all, {"x", 0}}, begun: 3, err: true,
		},
		"expired with pages, but not without": {
			answer: func(p page) (string, error) {
				switch {
				case p.size == 0:
					return "", nil
				case p.token != "":
					return "", expired("")
				}
				return "x", nil
			},
			want: []page{first, second, first, second, all}, begun: 3,
		},
		"continues with the current list": {
			anyTime: true,
			answer: func(p page) (string, error) {
				return map[string]string{"": "x"}[p.token], map[string]error{"x": expired("y")}[p.token]
			},
			want: []page{first, second, {"y", 10}}, begun: 1,
		},
		"must not continue with the current list": {
			answer: func(p page) (string, error) {
				if p.token != "" {
					return "", expired("y")
				}
				return map[int]string{10: "x"}[p.size], nil
			},
			want: []page{first, second, first, second, all}, begun: 3,
		},
		"always the same page": {
			answer: func(page) (string, error) { return "x", nil },
			want:   []page{first, second, first, second, all, {"x", 0}}, begun: 3, err: true,
		},
		"expired at once": {
			answer: func(page) (string, error) { return "", expired("") },
			want:   []page{first}, begun: 1, err: true,
		},
		"another error": {
			answer: func(p page) (string, error) { return "x", map[string]error{"x": errAny}[p.token] },
			want:   []page{first, second}, begun: 1, err: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []page
			begun := 0
			pages := Pages{Size: 10, AnyTime: tt.anyTime, Begin: func() { begun++ }}
			pages.Fetch = func(_ context.Context, token string, size int) (metav1.ListMeta, error) {
				p := page{token, size}
				got = append(got, p)
				if len(got) > 100 {
					return metav1.ListMeta{}, nil // It would continue forever.
				}
				next, err := tt.answer(p)
				return metav1.ListMeta{Continue: next}, err
			}
			_, err := pages.Read(t.Context())
			if (err != nil) != tt.err || begun != tt.begun {
				t.Errorf("begun %d times, error %v", begun, err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("asked for %v, want %v", got, tt.want)
			}
		})
	}
}

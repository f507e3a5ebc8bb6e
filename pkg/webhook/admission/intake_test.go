package admission

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
)

// Edge case 101: a very deeply nested object is not evaluated. Each of its levels may be an owned
// path, so the size of its paths grows with the square of its depth.
func TestDeepReviews(t *testing.T) {
	nested := func(n int) string {
		object := `{"metadata":{"uid":"1","managedFields":[{"manager":"a","operation":"Update","fieldsV1":` +
			strings.Repeat(`{"f:a":`, n) + "{}" + strings.Repeat("}", n) + `}]},"spec":` +
			strings.Repeat(`{"a":`, n) + `"]\\\"{"` + strings.Repeat("}", n) + "}"
		return strings.Replace(small, `"uid":"u"`, `"uid":"u","object":`+object+`,"oldObject":`+strings.ReplaceAll(object, `"a","op`, `"b","op`), 1)
	}
	for name, tt := range map[string]struct{ depth, want int }{
		"as deep as the built-in kinds": {40, http.StatusOK},
		"4500 levels":                   {4500, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			a := newHandler(t, nil)
			a.evaluate = takings{count: a.count}.evaluate
			body := []byte(nested(tt.depth))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if status, _ := ask(t, a, body); status != tt.want {
				t.Errorf("status %d, want %d", status, tt.want)
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
				t.Errorf("%d bytes for a review of %d", took, len(body))
			}
		})
	}
}

func TestTooDeep(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                            false,
		strings.Repeat("[", maxDepth):                 false,
		strings.Repeat("[", maxDepth+1):               false,
		strings.Repeat(`{"a":[`, maxDepth):            true,
		`"` + strings.Repeat("[", 2*maxDepth):         false,
		`"\"` + strings.Repeat("{", 2*maxDepth) + `"`: false,
		`"\\"` + strings.Repeat("{", 2*maxDepth):      true,
		strings.Repeat("[],", 2*maxDepth):             false,
	} {
		if text == strings.Repeat("[", maxDepth+1) {
			want = true
		}
		if got := tooDeep([]byte(text)); got != want {
			t.Errorf("%.20q… of %d bytes: %t", text, len(text), got)
		}
	}
}

// held is a request body that never ends.
type held struct {
	rest io.Reader
	come func()
	wait <-chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.rest.Read(p)
	if errors.Is(err, io.EOF) {
		h.come()
		<-h.wait
	}
	return n, err
}

// Edge case 101: bodies that stall use at most the available memory. Other clients are answered as
// soon as some memory is available again.
func TestStalledBodiesAreBounded(t *testing.T) {
	a := newHandler(t, func(*request) (findings, error) { return findings{}, nil })
	const size, senders = 5 << 20, 40
	text := strings.Replace(small, `"u"`, `"`+strings.Repeat("u", size)+`"`, 1)
	var (
		wait     = make(chan struct{})
		settled  sync.WaitGroup // held back, or refused
		done     sync.WaitGroup
		mu       sync.Mutex
		statuses = map[int]int{}
	)
	settled.Add(senders)
	for range senders {
		once := sync.OnceFunc(settled.Done)
		done.Go(func() {
			defer once()
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", &held{strings.NewReader(text), once, wait}))
			mu.Lock()
			defer mu.Unlock()
			statuses[w.Code]++
		})
	}
	settled.Wait()
	if holds := a.intake.held.Load(); holds > maxUnderWay {
		t.Errorf("%d bytes are held", holds)
	}
	close(wait)
	done.Wait()
	if statuses[http.StatusOK] == 0 || statuses[http.StatusServiceUnavailable] == 0 || len(statuses) != 2 {
		t.Errorf("answers %v", statuses)
	}
	if left := a.intake.held.Load(); left != 0 {
		t.Errorf("%d bytes were not released", left)
	}
	if status, _ := ask(t, a, []byte(small)); status != http.StatusOK {
		t.Errorf("status %d once there is room", status)
	}
}

// Edge case 101: clients that send garbage do not fill the log.
func TestErrorLogIsRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var message []string
		c := newComplaints(funcr.New(func(_, args string) { message = append(message, args) }, funcr.Options{}))
		for range 10_000 {
			c.Error(errCrowded, "review not answered")
		}
		if len(message) != 10 {
			t.Errorf("%d lines at once", len(message))
		}
		time.Sleep(time.Minute)
		c.Error(errCrowded, "review not answered")
		if last := message[len(message)-1]; len(message) != 11 || !strings.Contains(last, `"suppressed"=9990`) {
			t.Errorf("then %q", last)
		}
	})
}

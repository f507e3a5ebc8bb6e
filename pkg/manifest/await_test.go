package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type never struct{}

func (never) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// trickle is a server that sends one byte every two seconds.
type trickle struct{ text string }

func (s trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = in.CloseWithError(r.Context().Err()) })
	go func() { _ = in.CloseWithError(dribble(in, s.text)) }()
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Request: r, Body: out}, nil
}

func dribble(w io.Writer, text string) error {
	for i := range text {
		time.Sleep(2 * time.Second)
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Each wait is reported after a moment, together with its limit, and ends at the limit.
func TestWaitForSilentInputIsReported(t *testing.T) {
	const url, shown = "https://someone:secret@example.com/app.yaml?token=secret", "https://example.com/app.yaml?***"
	for name, tt := range map[string]struct {
		options Options
		what    string
		limit   time.Duration
		wantErr string
	}{
		"a URL": {
			Options{Filenames: []string{url}, Client: &http.Client{Transport: never{}}},
			shown, 3 * time.Minute, shown + ": no input for 3m",
		},
		"standard input": {Options{Filenames: []string{"-"}}, "standard input", 5 * time.Minute, "-: no input for 5m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, writer := io.Pipe()
				tt.options.In = in
				var reported []string
				tt.options.Report = func(what string, since time.Time, within time.Duration) {
					reported = append(reported, fmt.Sprintf("%s (%s of %s)", what, time.Since(since), within))
				}
				began := time.Now()
				_, err := Read(t.Context(), tt.options)
				if diff := cmp.Diff([]string{tt.wantErr}, lines(err)); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != tt.limit {
					t.Errorf("it took %s, want %s", took, tt.limit)
				}
				if diff := cmp.Diff([]string{fmt.Sprintf("%s (1s of %s)", tt.what, tt.limit)}, reported); diff != "" {
					t.Errorf("reported waits (-want +got):\n%s", diff)
				}
				_ = writer.Close()
			})
		})
	}
}

// refused is a port without a server.
type refused struct{}

func (refused) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

// A server that refuses connections is tried three times, and no wait is reported.
func TestRefusedConnectionIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Read(t.Context(), Options{
			Filenames: []string{"https://example.com/app.yaml"}, Client: &http.Client{Transport: refused{}},
			Report: func(string, time.Time, time.Duration) { t.Error("a wait was reported after", time.Since(began)) },
		})
		if took := time.Since(began); err == nil || took != 2*time.Second {
			t.Errorf("got error %v after %s, want an error after 2s", err, took)
		}
	})
}

// Slow input is not silent, so it is read to the end.
func TestSlowInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, writer := io.Pipe()
		text := configMap("a") + "data: {k: v}\n# " + fmt.Sprintf("%0400d", 0)
		go func() { _ = writer.CloseWithError(dribble(writer, text)) }()
		reported := 0
		began := time.Now()
		res, err := Read(t.Context(), Options{
			Filenames: []string{"-"}, In: in, Report: func(string, time.Time, time.Duration) { reported++ },
		})
		if took := time.Since(began); err != nil || len(res.Objects) != 1 || took < longestSilence {
			t.Errorf("%d objects after %s, %v", len(res.Objects), took, err)
		}
		if reported == 0 {
			t.Error("no wait was reported")
		}
	})
}

// No wait is reported for a regular file or for input that comes at once.
func TestPromptInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write(t, map[string]string{"app.yaml": configMap("a")})
		_, err := Read(t.Context(), Options{
			Filenames: []string{"app.yaml", "https://example.com/app.yaml"},
			Client:    &http.Client{Transport: &answers{status: []int{200}}},
			Report:    func(what string, _ time.Time, _ time.Duration) { t.Errorf("a wait for %s was reported", what) },
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// If ctx ends, the read of a URL stops, even in the middle of the answer.
func TestSilentURLEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := Read(ctx, Options{
			Filenames: []string{"https://example.com/app.yaml"}, Client: &http.Client{Transport: trickle{configMap("a")}},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Minute) // The server notices.
	})
}

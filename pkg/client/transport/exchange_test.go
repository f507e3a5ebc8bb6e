package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// healthy answers /readyz.
type healthy struct{}

func (healthy) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain"}}, Request: req,
		Body: io.NopCloser(strings.NewReader("ok")),
	}, nil
}

// trace is what a sender did about a series of answers.
type trace struct {
	sent    int
	reports int
	waited  time.Duration
	err     error
}

// exchanged lets a sender meet the answers, one after the other; the last one is repeated.
func exchanged(t *testing.T, r Request, renewable bool, wrote bool, answers []error) (out trace) {
	t.Helper()
	client, err := rest.RESTClientForConfigAndClient(&rest.Config{
		Host: "http://healthy", ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: &schema.GroupVersion{}},
	}, &http.Client{Transport: healthy{}})
	if err != nil {
		t.Fatal(err)
	}
	s := New(client, Options{
		Timeout: 30 * time.Second, Reporting: &sync.Mutex{}, Renewable: renewable,
		OnRetry: func(object.Ref, error, time.Duration, time.Duration) { out.reports++ },
	})
	began := time.Now()
	out.err = s.Do(t.Context(), r, func(ctx context.Context) error {
		a := attemptOf(ctx)
		a.receivedNow()
		a.wrote.Store(wrote)
		answer := answers[min(out.sent, len(answers)-1)]
		out.sent++
		return answer
	})
	out.waited = time.Since(began)
	return out
}

func status(code int32, reason metav1.StatusReason, causes ...metav1.CauseType) error {
	s := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason)}
	for _, c := range causes {
		s.Details = &metav1.StatusDetails{Name: "a", Causes: []metav1.StatusCause{{Type: c}}}
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// Each answer that a server or a network can give is met once, and then forever, by a read, a
// write, a create and a request with a renewable credential.
func TestEveryAnswer(t *testing.T) {
	const proxy = metav1.CauseTypeUnexpectedServerResponse
	const (
		ends    = "ends"    // at once, with this answer
		passes  = "passes"  // tried again and reported
		quietly = "quietly" // tried again, reported only the second time; a healthy server ends it
		renewed = "renewed" // tried again at once if the credential is renewable
	)
	rows := map[string]struct {
		answer error
		want   string
		// guarded is the result for a guarded request, if it differs.
		guarded string
	}{
		"400":                         {answer: status(400, metav1.StatusReasonBadRequest), want: ends},
		"401":                         {answer: status(401, metav1.StatusReasonUnauthorized), want: renewed},
		"403":                         {answer: status(403, metav1.StatusReasonForbidden), want: ends},
		"404":                         {answer: status(404, metav1.StatusReasonNotFound, ""), want: ends},
		"405":                         {answer: status(405, metav1.StatusReasonMethodNotAllowed), want: ends},
		"406":                         {answer: status(406, metav1.StatusReasonNotAcceptable), want: ends},
		"409 of versions":             {answer: status(409, metav1.StatusReasonConflict), want: passes, guarded: ends},
		"409 exists":                  {answer: status(409, metav1.StatusReasonAlreadyExists), want: passes, guarded: ends},
		"409 of managers":             {answer: status(409, metav1.StatusReasonConflict, metav1.CauseTypeFieldManagerConflict), want: ends},
		"410 gone":                    {answer: status(410, metav1.StatusReasonGone), want: ends},
		"410 expired":                 {answer: status(410, metav1.StatusReasonExpired), want: ends},
		"413":                         {answer: status(413, metav1.StatusReasonRequestEntityTooLarge), want: ends},
		"415":                         {answer: status(415, metav1.StatusReasonUnsupportedMediaType), want: ends},
		"422":                         {answer: status(422, metav1.StatusReasonInvalid), want: ends},
		"429":                         {answer: status(429, metav1.StatusReasonTooManyRequests), want: passes},
		"500":                         {answer: status(500, metav1.StatusReasonInternalError), want: passes},
		"500 without a reason":        {answer: status(500, ""), want: quietly},
		"500 server timeout":          {answer: status(500, metav1.StatusReasonServerTimeout), want: passes},
		"501":                         {answer: status(501, ""), want: ends},
		"502 of a proxy":              {answer: status(502, "", proxy), want: passes},
		"503":                         {answer: status(503, metav1.StatusReasonServiceUnavailable), want: passes},
		"503 of a proxy":              {answer: status(503, metav1.StatusReasonServiceUnavailable, proxy), want: passes},
		"504":                         {answer: status(504, metav1.StatusReasonTimeout), want: passes},
		"504 of a proxy":              {answer: status(504, metav1.StatusReasonTimeout, proxy), want: passes},
		"a lost connection":           {answer: Broken(io.EOF), want: passes},
		"half an answer":              {answer: io.ErrUnexpectedEOF, want: passes},
		"no answer in time":           {answer: context.DeadlineExceeded, want: passes},
		"an answer to other requests": {answer: Wrong("it is a List"), want: passes},
		"a refusal of the guard":      {answer: &refusedError{errors.New("the lock is lost")}, want: ends},
		"no credentials":              {answer: &credentialsError{errors.New("exit status 1")}, want: ends},
		"an unknown error":            {answer: errors.New("x"), want: ends},
	}
	kinds := map[string]struct {
		r                         Request
		renewable, wrote, guarded bool
	}{
		"read":           {},
		"renewable read": {renewable: true},
		"write":          {wrote: true},
		"create":         {r: Request{Guarded: true, Creates: true}, wrote: true, guarded: true},
	}
	for name, row := range rows {
		for kindName, kind := range kinds {
			t.Run(name+"/"+kindName, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := row.want
					if kind.guarded && row.guarded != "" {
						want = row.guarded
					}
					r := kind.r
					r.Ref = object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "a"}
					once := exchanged(t, r, kind.renewable, kind.wrote, []error{row.answer, nil})
					forever := exchanged(t, r, kind.renewable, kind.wrote, []error{row.answer})
					if want == renewed {
						want = ends
						if kind.renewable {
							if once.err != nil || once.sent != 2 || once.reports != 0 || once.waited != 0 {
								t.Errorf("once: %+v, want a second request at once", once)
							}
							if forever.err == nil || forever.sent != 2 || forever.waited != 0 {
								t.Errorf("forever: %+v, want the second answer", forever)
							}
							return
						}
					}
					if want == ends {
						if once.err == nil || once.sent != 1 || once.reports != 0 || once.waited != 0 {
							t.Errorf("once: %+v, want an error at once", once)
						}
						return
					}
					if once.err != nil || once.sent != 2 || once.waited == 0 || want == quietly && once.reports > 0 {
						t.Errorf("once: %+v, want a second request after a pause", once)
					}
					if forever.err == nil || forever.sent < 2 || forever.waited > 31*time.Second {
						t.Errorf("forever: %+v, want an error after the time for retries", forever)
					}
					if want == quietly && forever.sent != 2 {
						t.Errorf("forever: %+v, want the server's answer once it is known to be healthy", forever)
					}
					// A request that may have been carried out does not fail as one that was not.
					if mayBeWritten(forever.err) && !kind.wrote {
						t.Errorf("forever: a read may have been written: %v", forever.err)
					}
				})
			})
		}
	}
}

func mayBeWritten(err error) bool {
	var may interface{ MayBeWritten() bool }
	return errors.As(err, &may) && may.MayBeWritten()
}

// A create that conflicts after a lost answer may have been carried out by the lost attempt, and
// a second 401 is final even after other failures.
func TestAnswersInARow(t *testing.T) {
	conflict, unauthorized := status(409, metav1.StatusReasonConflict), status(401, metav1.StatusReasonUnauthorized)
	busy, lost, badGateway := status(429, metav1.StatusReasonTooManyRequests), Broken(io.EOF), status(502, "")
	for name, test := range map[string]struct {
		answers       []error
		sent          int
		fails, writes bool
	}{
		"lost, then a conflict":        {[]error{lost, conflict}, 2, true, true},
		"a gateway, then a conflict":   {[]error{badGateway, conflict}, 2, true, true},
		"busy, then a conflict":        {[]error{busy, conflict}, 2, true, false},
		"rejected, then a conflict":    {[]error{unauthorized, conflict}, 2, true, false},
		"rejected twice":               {[]error{unauthorized, unauthorized, nil}, 2, true, false},
		"rejected, busy, rejected":     {[]error{unauthorized, busy, unauthorized, nil}, 3, true, false},
		"busy, rejected, lost, passes": {[]error{busy, unauthorized, lost, nil}, 4, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Request{Ref: object.Ref{Name: "a"}, Guarded: true, Creates: true}
				got := exchanged(t, r, true, true, test.answers)
				if got.sent != test.sent || (got.err != nil) != test.fails || mayBeWritten(got.err) != test.writes {
					t.Errorf("%s, want %d requests, error %t, may be written %t", fmt.Sprintf("%+v", got), test.sent, test.fails, test.writes)
				}
			})
		})
	}
}

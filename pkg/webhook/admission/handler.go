package admission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// maxReview bounds a review: two objects of three megabytes, the API server's limit, and the
// request around them.
const maxReview = 7 << 20

const (
	// readTimeout bounds the arrival of a review. The API server waits a second or two for the
	// answer.
	readTimeout = 5 * time.Second
	// firstRead is how much memory is reserved for a review before it arrives: its stated length is
	// not trusted.
	firstRead = 64 << 10
)

// handler answers the reviews at one path. It never denies: a valid review is allowed, even if
// evaluating it panics, and an invalid one gets an HTTP error, which failurePolicy Ignore passes
// over.
//
// Therefore it does not use controller-runtime's, in which a panic and an invalid review are
// denials (edge case 75).
type handler struct {
	name     string
	evaluate evaluator
	count    *metrics
	log      *complaints
	// intake is shared by all webhooks of the process.
	intake *intake
	// draining reports whether clients should reconnect elsewhere.
	draining func() bool
	// readTimeout bounds the arrival of a review; 0 means the constant.
	readTimeout time.Duration
}

// evaluator returns the findings for a request. The error is about an object that it does not
// understand; earlier findings are still returned.
type evaluator func(*request) (findings, error)

// findings are an evaluator's results: for the client that sent the request, and for the audit log.
type findings struct {
	warnings []warning
	audit    map[string]string
}

// review is the decoded part of an AdmissionReview, in any version: they differ in nothing that
// matters here, and each is answered in its own.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

// request is the decoded part of an admission request.
type request struct {
	UID         types.UID                `json:"uid"`
	Kind        metav1.GroupVersionKind  `json:"kind"`
	RequestKind *metav1.GroupVersionKind `json:"requestKind"`
	SubResource string                   `json:"subResource"`
	Operation   admissionv1.Operation    `json:"operation"`
	UserInfo    struct {
		Username string `json:"username"`
	} `json:"userInfo"`
	Options struct {
		FieldManager string `json:"fieldManager"`
	} `json:"options"`
	Object    subject `json:"object"`
	OldObject subject `json:"oldObject"`
	DryRun    bool    `json:"dryRun"`
}

// answer is an AdmissionReview that allows.
type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID      types.UID `json:"uid"`
	Allowed  bool      `json:"allowed"`
	Warnings []string  `json:"warnings,omitempty"`
	// AuditAnnotations are for the API server's audit log, which prefixes their keys with
	// the webhook's name.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

// ServeHTTP answers one review.
func (a *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.count.since(a.name, time.Now())
	if a.draining() {
		w.Header().Set("Connection", "close") // On HTTP/2, this is GOAWAY.
	}
	// Do not wait for a client that stops sending. The error is that of a connection without
	// deadlines, as in tests.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(cmp.Or(a.readTimeout, readTimeout)))
	body := a.intake.reader(http.MaxBytesReader(nil, r.Body, maxReview))
	defer body.release()
	review, err := readReview(body, r.ContentLength)
	if err != nil {
		a.count.fault(a.name, faultReview)
		a.log.Error(err, "review not answered", "webhook", a.name)
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	texts, audit := a.findings(review.Request)
	err = json.NewEncoder(w).Encode(answer{review.APIVersion, review.Kind, response{
		UID: review.Request.UID, Allowed: true, Warnings: texts, AuditAnnotations: audit,
	}})
	if err != nil {
		a.count.fault(a.name, faultAnswer) // The API server has hung up.
	}
}

// statusOf returns the HTTP status for an invalid review.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errCrowded):
		return http.StatusServiceUnavailable
	case errors.Is(err, errDeep), errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusBadRequest
	}
}

// findings never fails: the client does not see errors.
func (a *handler) findings(r *request) (texts []string, audit map[string]string) {
	defer func() {
		if p := recover(); p != nil {
			a.count.fault(a.name, faultPanic)
			a.log.Error(panicError{p}, "panic, request allowed", "webhook", a.name, "stack", string(debug.Stack()))
			texts, audit = nil, nil
		}
	}()
	found, err := a.evaluate(r)
	if err != nil {
		a.count.fault(a.name, faultObject)
		a.log.Error(err, "object not understood, request allowed", "webhook", a.name,
			"kind", r.Kind.Kind, "request", r.UID)
	}
	for _, w := range bounded(found.warnings) {
		a.count.warned(w.about)
		texts = append(texts, w.text)
	}
	return texts, found.audit
}

// panicError holds the value of a panic, unless that may be part of an object.
type panicError struct{ value any }

func (e panicError) Error() string {
	if err, ok := e.value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic with a value of type %T", e.value)
}

// readReview reads a review of a length; negative if unknown.
func readReview(r io.Reader, length int64) (*review, error) {
	body, err := readBody(r, length)
	if err == nil && tooDeep(body) {
		err = errDeep
	}
	if err != nil {
		return nil, fmt.Errorf("read the review: %w", err)
	}
	return parseReview(body)
}

func parseReview(body []byte) (*review, error) {
	var out review
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &out); err != nil {
		return nil, fmt.Errorf("read the review: %w", err)
	}
	switch {
	case out.Kind != "AdmissionReview" || !strings.HasPrefix(out.APIVersion, admissionv1.GroupName+"/"):
		return nil, errors.New("read the review: it is no AdmissionReview")
	case out.Request == nil || out.Request.UID == "":
		return nil, errors.New("read the review: it has no request")
	}
	return &out, nil
}

func readBody(r io.Reader, length int64) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(length, 0), firstRead)) + bytes.MinRead)
	n, err := body.ReadFrom(r)
	if err == nil && length <= maxReview && n < length {
		err = io.ErrUnexpectedEOF
	}
	return body.Bytes(), err
}

// ReachAnnotation is set by a write that tests whether the API server's calls come back; the answer
// repeats it.
const ReachAnnotation = "k8sconnect.io/reach"

// echo answers such writes with a warning that repeats their annotation.
func echo(r *request) (findings, error) {
	if r.Operation != admissionv1.Update || !r.DryRun {
		return findings{}, nil
	}
	o, err := r.Object.read()
	if err != nil || o == nil {
		return findings{}, err
	}
	text := o.GetAnnotations()[ReachAnnotation]
	if text == "" {
		return findings{}, nil
	}
	return findings{warnings: []warning{{aboutReach, ReachAnnotation + " " + text}}}, nil
}

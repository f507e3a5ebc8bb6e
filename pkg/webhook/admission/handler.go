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
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// maxReview bounds a review: two objects of three megabytes each (the API server's limit), and the
// rest of the request.
const maxReview = 7 << 20

const (
	// readTimeout bounds how long a review may take to arrive. The API server waits a second or two
	// for a response.
	readTimeout = 5 * time.Second
	// firstRead bounds the memory allocated for a review before it arrives, because its
	// Content-Length may be wrong.
	firstRead = 64 << 10
)

// handler answers the reviews at one path. It allows every valid review, even if evaluating the
// review panics. It answers an invalid one with an HTTP error, which failurePolicy Ignore ignores.
// controller-runtime's handler would deny the request in both cases (edge case 75).
type handler struct {
	name     string
	evaluate evaluator
	count    *metrics
	log      *complaints
	intake   *intake // shared by all handlers
	draining func() bool
	// readTimeout replaces the constant in tests, unless it is 0.
	readTimeout time.Duration
}

// evaluator returns the findings for a request. If it cannot decode an object, it returns an error
// together with the findings so far.
type evaluator func(*request) (findings, error)

type findings struct {
	warnings []warning
	audit    map[string]string
}

// review is the decoded part of an AdmissionReview. All versions of AdmissionReview have these
// fields. The response to a review has the version of the review.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

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

// A response always allows the request.
type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID      types.UID `json:"uid"`
	Allowed  bool      `json:"allowed"`
	Warnings []string  `json:"warnings,omitempty"`
	// AuditAnnotations are for the audit log, which prefixes their keys with the webhook's name.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

func (a *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.count.observe(a.name, time.Now())
	if a.draining() {
		w.Header().Set("Connection", "close") // On HTTP/2, this is GOAWAY.
	}
	// Do not wait for a client that stops sending. The error is ignored, because it occurs only if
	// the connection does not support deadlines, as in tests.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(cmp.Or(a.readTimeout, readTimeout)))
	body := &counted{Reader: http.MaxBytesReader(nil, r.Body, maxReview), of: a.intake}
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
		a.count.warnings.WithLabelValues(string(w.about)).Inc()
		texts = append(texts, w.text)
	}
	return texts, found.audit
}

// panicError describes a panic. It omits the panic's value, which may contain parts of an object.
type panicError struct{ value any }

func (e panicError) Error() string {
	if err, ok := e.value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic with a value of type %T", e.value)
}

// readReview reads and decodes a review. A negative length means that the length is unknown.
func readReview(r io.Reader, length int64) (*review, error) {
	body, err := readBody(r, length)
	if err == nil && tooDeep(body) {
		err = errDeep
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the review: %w", err)
	}
	return parseReview(body)
}

func parseReview(body []byte) (*review, error) {
	var out review
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &out); err != nil {
		return nil, fmt.Errorf("cannot read the review: %w", err)
	}
	switch {
	case out.Kind != "AdmissionReview" || !strings.HasPrefix(out.APIVersion, admissionv1.GroupName+"/"):
		return nil, errors.New("cannot read the review: it is not an AdmissionReview")
	case out.Request == nil || out.Request.UID == "":
		return nil, errors.New("cannot read the review: it has no request")
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

// ReachAnnotation is set by the writes that test whether the API server's calls get through. The
// response repeats the annotation.
const ReachAnnotation = "k8sconnect.io/reach"

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

const (
	// maxUnderWay bounds the total bytes of all reviews in progress. An API server sends only a few
	// reviews at a time, each of about ten kilobytes.
	maxUnderWay = 32 << 20
	// maxDepth bounds the nesting of a review. Kubernetes' own kinds have fewer than forty levels,
	// and the work for an object grows with the square of its depth.
	maxDepth = 200
)

var (
	errCrowded = errors.New("too many reviews are in progress")
	errDeep    = errors.New("nested too deeply")
)

// intake bounds the memory of all reviews that are in progress (edge case 101).
type intake struct{ held atomic.Int64 }

// counted is a request body whose bytes count towards the total from their arrival until the body
// is released. If the total exceeds the bound, Read returns errCrowded.
type counted struct {
	io.Reader
	of   *intake
	size int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.size += int64(n)
	if c.of.held.Add(int64(n)) > maxUnderWay {
		return n, errCrowded
	}
	return n, err
}

// Call release once nothing refers to the body any longer.
func (c *counted) release() { c.of.held.Add(-c.size) }

// tooDeep reports whether JSON is nested more than maxDepth levels deep. For invalid JSON, the
// result is arbitrary.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i = endOfText(text, i+1)
		}
	}
	return false
}

func endOfText(text []byte, i int) int {
	for i < len(text) && text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

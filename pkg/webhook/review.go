package webhook

import (
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

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
)

// maxReview is how many bytes a review may have: two objects of three megabytes,
// which is what the API server takes, and the request around them.
const maxReview = 7 << 20

// admission answers the reviews that come to one path. Nothing in it says "no":
// what can be read is allowed, even when judging it panics, and what can not be
// read has an HTTP error for an answer, which failurePolicy Ignore passes over.
//
// That is why it is not controller-runtime's: there, a panic and a review that can
// not be read are denials (edge case 75).
type admission struct {
	name  string
	judge judge
	count *metrics
	log   logr.Logger
	// draining is set when connections are to go elsewhere.
	draining *atomic.Bool
}

// judge returns what to warn of. Its error is that of an object that it does not
// understand; what it has found until then is said all the same.
type judge func(*admissionv1.AdmissionRequest) ([]warning, error)

// ServeHTTP answers one review.
func (a *admission) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.count.since(a.name, time.Now())
	if a.draining.Load() {
		w.Header().Set("Connection", "close") // On HTTP/2, this is GOAWAY.
	}
	review, err := readReview(r)
	if err != nil {
		a.count.fault(a.name, faultReview)
		a.log.Error(err, "review not answered", "webhook", a.name)
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return
	}
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, Warnings: a.warnings(review.Request),
	}}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.count.fault(a.name, faultAnswer) // The API server has hung up.
	}
}

// warnings never fails: of what goes wrong, the one who writes hears nothing.
func (a *admission) warnings(request *admissionv1.AdmissionRequest) (texts []string) {
	defer func() {
		if p := recover(); p != nil {
			a.count.fault(a.name, faultPanic)
			a.log.Error(panicError{p}, "panic, request allowed", "webhook", a.name, "stack", string(debug.Stack()))
			texts = nil
		}
	}()
	warnings, err := a.judge(request)
	if err != nil {
		a.count.fault(a.name, faultObject)
		a.log.Error(err, "object not understood, request allowed", "webhook", a.name,
			"kind", request.Kind.Kind, "namespace", request.Namespace, "name", request.Name)
	}
	warnings = bounded(warnings)
	for _, w := range warnings {
		a.count.warned(w.about)
		texts = append(texts, w.text)
	}
	return texts
}

// panicError says what somebody panicked with, if it can not be a part of an
// object.
type panicError struct{ value any }

func (e panicError) Error() string {
	if err, ok := e.value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic with a value of type %T", e.value)
}

// readReview reads a review of whichever version: they differ in nothing that is
// read here, and each is answered at its own.
func readReview(r *http.Request) (admissionv1.AdmissionReview, error) {
	var review admissionv1.AdmissionReview
	body, err := readBody(r)
	if err != nil {
		return review, fmt.Errorf("read the review: %w", err)
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return review, fmt.Errorf("read the review: %w", err)
	}
	switch {
	case review.Kind != "AdmissionReview" || !strings.HasPrefix(review.APIVersion, admissionv1.GroupName+"/"):
		return review, errors.New("read the review: it is no AdmissionReview")
	case review.Request == nil || review.Request.UID == "":
		return review, errors.New("read the review: it has no request")
	}
	return review, nil
}

func readBody(r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(nil, r.Body, maxReview)
	if r.ContentLength <= 0 || r.ContentLength > maxReview {
		return io.ReadAll(limited)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(limited, body)
	return body, err
}

package printer

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// sameFault puts objects together that failed for one and the same reason, in the
// order of the first of each.
func sameFault(failed []event.Applied) [][]event.Applied {
	var groups [][]event.Applied
	at := map[string]int{}
	for _, a := range failed {
		why := strings.Join(explain(a.Err), "\n")
		i, known := at[why]
		if !known {
			i, at[why] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

// commonFault returns what to say of objects that failed for the same reason. An error
// that can speak of several objects at once is asked to.
func commonFault(group []event.Applied) error {
	err := group[0].Err
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(len(group))
	}
	return err
}

// hints collects what to do next from every part of an error that knows it.
func hints(err error) []string {
	var found []string
	visit(err, func(e error) {
		hinter, ok := e.(interface{ Hint() string })
		if !ok {
			return
		}
		if hint := hinter.Hint(); hint != "" && !slices.Contains(found, hint) {
			found = append(found, hint)
		}
	})
	return found
}

// visit calls see for an error and for all that it wraps.
func visit(err error, see func(error)) {
	if err == nil {
		return
	}
	see(err)
	switch e := err.(type) { //nolint:errorlint // this is what unwraps
	case interface{ Unwrap() error }:
		visit(e.Unwrap(), see)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			visit(one, see)
		}
	}
}

// reason is the API server's word for the class of an error; empty where the
// error is not the server's.
func reason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return string(status.Status().Reason)
}

// root is the error at the bottom, the shortest way to say what is wrong: of a
// request that got no answer, "connection refused".
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// longestLine is how much of one line of a message is shown on a terminal: its
// beginning says what is wrong, its end mostly where. Logs and documents have all of it.
const longestLine = 400

// forPeople is explain for a terminal of so many columns; 0 where there is none.
func forPeople(err error, columns int) []string {
	text := explain(err)
	if columns <= 0 {
		return text
	}
	for i, line := range text {
		text[i] = cutMiddle(line, longestLine)
	}
	return text
}

// explain lists the lines of an error and of its hints, for people.
func explain(err error) []string {
	if err == nil {
		return nil
	}
	text := lines(err.Error())
	for _, hint := range hints(err) {
		for i, line := range lines(hint) {
			if i == 0 {
				line = "hint: " + line
			}
			text = append(text, line)
		}
	}
	return text
}

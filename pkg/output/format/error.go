package format

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Hints collects what to do next from every part of an error that knows it.
func Hints(err error) []string {
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
	switch e := err.(type) { //nolint:errorlint // this function unwraps
	case interface{ Unwrap() error }:
		visit(e.Unwrap(), see)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			visit(one, see)
		}
	}
}

// Reason is the API server's word for the class of an error; empty where the
// error is not the server's.
func Reason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return string(status.Status().Reason)
}

// longestLine is how much of one line of a message is shown on a terminal: its beginning
// says what is wrong, and its end usually says where. Logs and documents have all of it.
const longestLine = 400

// ErrorLines is explain for a terminal with that many columns; 0 if there is none.
func ErrorLines(err error, columns int) []string {
	text := Explain(err)
	if columns <= 0 {
		return text
	}
	for i, line := range text {
		text[i] = CutMiddle(line, longestLine)
	}
	return text
}

// Explain lists the lines of an error and of its hints, for people.
func Explain(err error) []string {
	if err == nil {
		return nil
	}
	text := Lines(err.Error())
	for _, hint := range Hints(err) {
		for i, line := range Lines(hint) {
			if i == 0 {
				line = "hint: " + line
			}
			text = append(text, line)
		}
	}
	return text
}

// WouldBeRefused reports whether the server would refuse to let a path be taken: whether
// its complaints about the whole name this field.
func WouldBeRefused(err error, path fieldpath.Path) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	said := path.String()
	within := func(below, above string) bool {
		rest, found := strings.CutPrefix(below, above)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, cause := range status.Status().Details.Causes {
		if field := "." + cause.Field; cause.Field != "" && (within(said, field) || within(field, said)) {
			return true
		}
	}
	return false
}

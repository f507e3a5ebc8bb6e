package format

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Hints returns the hints of an error and of all errors that it wraps.
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

// Reason returns the API server's reason for an error, or "" if the error did not come from the
// server.
func Reason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return string(status.Status().Reason)
}

// longestLine limits the length of an error on a terminal. The middle is cut, because the start
// says what is wrong, and the end usually says where.
const longestLine = 400

// Once remembers which hints a run has shown, so that each is shown only once. The zero value is
// ready to use.
type Once struct{ shown map[string]bool }

// Take reports whether a hint is new, and marks it as shown.
func (o *Once) Take(hint string) bool {
	if o.shown[hint] {
		return false
	}
	if o.shown == nil {
		o.shown = map[string]bool{}
	}
	o.shown[hint] = true
	return true
}

// Explain works like the function [Explain], but omits hints that were already shown.
func (o *Once) Explain(err error) []string {
	if err == nil {
		return nil
	}
	return explained(err, slices.DeleteFunc(Hints(err), func(hint string) bool { return !o.Take(hint) }))
}

// ErrorLines works like the function [ErrorLines], but omits hints that were already shown.
func (o *Once) ErrorLines(err error, columns int) []string { return cut(o.Explain(err), columns) }

// ErrorLines works like [Explain] for a terminal with the given number of columns; 0 means no
// terminal.
func ErrorLines(err error, columns int) []string {
	return cut(Explain(err), columns)
}

func cut(text []string, columns int) []string {
	for i, line := range text {
		text[i] = Shorten(line)
		if columns > 0 {
			text[i] = CutMiddle(text[i], longestLine)
		}
	}
	return text
}

// Explain returns the lines of an error and its hints.
func Explain(err error) []string {
	if err == nil {
		return nil
	}
	return explained(err, Hints(err))
}

func explained(err error, hints []string) []string {
	text := Lines(err.Error())
	for _, hint := range hints {
		for i, line := range Lines(hint) {
			if i == 0 {
				line = "hint: " + line
			}
			text = append(text, line)
		}
	}
	return text
}

// WouldBeRefused reports whether the server's error names the path, or a field above or below it.
func WouldBeRefused(err error, path fieldpath.Path) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	message := path.String()
	within := func(below, above string) bool {
		rest, found := strings.CutPrefix(below, above)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, cause := range status.Status().Details.Causes {
		if field := "." + cause.Field; cause.Field != "" && (within(message, field) || within(field, message)) {
			return true
		}
	}
	return false
}

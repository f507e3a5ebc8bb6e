package object

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// AtVersion returns a copy with the given resource version. It shares its other fields with u.
func AtVersion(u *unstructured.Unstructured, version string) *unstructured.Unstructured {
	return withMetadata(u, func(metadata map[string]any) { metadata["resourceVersion"] = version })
}

// WithUID returns a copy with the given UID. It shares its other fields with u. An apply with a UID
// cannot create an object. An apply with only a resource version can, because the server ignores
// the version if the object is gone.
func WithUID(u *unstructured.Unstructured, uid types.UID) *unstructured.Unstructured {
	return withMetadata(u, func(metadata map[string]any) { metadata["uid"] = string(uid) })
}

// WithLabel returns a copy with the given label. It shares its other fields with u.
func WithLabel(u *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	return withMetadata(u, func(metadata map[string]any) {
		labels, _ := metadata["labels"].(map[string]any)
		if labels = maps.Clone(labels); labels == nil {
			labels = map[string]any{}
		}
		labels[key] = value
		metadata["labels"] = labels
	})
}

func withMetadata(u *unstructured.Unstructured, change func(map[string]any)) *unstructured.Unstructured {
	fields := maps.Clone(u.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	change(metadata)
	fields["metadata"] = metadata
	return &unstructured.Unstructured{Object: fields}
}

// Newer reports whether the first resource version is certainly later than the second (KEP-5504).
// It returns false for versions that are not numbers. Kubernetes itself never returns such
// versions.
func Newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

// WholeNumber reads a whole number. Some controllers write a generation as a string (edge case 47,
// https://github.com/helm/helm/issues/32615).
func WholeNumber(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// FaultError is a fault in the input. Faults that differ only in Source, Subject and Detail are
// reported together.
type FaultError struct {
	Source  Source
	Subject string
	// Text and Detail together make up one line. Only Detail is specific to this object.
	Text, Detail string
	Advice       string
}

func (e *FaultError) Error() string { return e.Place() + e.Text + e.Detail }

// Place returns the part of the text that names the place and the object.
func (e *FaultError) Place() string {
	var place strings.Builder
	for _, part := range []string{e.Source.String(), e.Subject} {
		if part != "" {
			place.WriteString(part + ": ")
		}
	}
	return place.String()
}

func (e *FaultError) Hint() string { return e.Advice }

// HintOf returns the first hint in an error's chain, or "".
func HintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// IsUnanswered reports whether an error means that a request got no response. Such an error says
// nothing about the object.
func IsUnanswered(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable)
}

// MayBeWritten reports whether a write got no response, so the server may have accepted it.
func MayBeWritten(err error) bool {
	var underway interface{ MayBeWritten() bool }
	return errors.As(err, &underway)
}

// HintedError carries a hint, for errors that have no type of their own.
type HintedError struct {
	Err    error
	Advice string
}

// Hinted returns a [*HintedError] whose text is formatted as by [fmt.Errorf].
func Hinted(advice, format string, args ...any) error {
	return &HintedError{Err: fmt.Errorf(format, args...), Advice: advice}
}

func (e *HintedError) Error() string { return e.Err.Error() }

func (e *HintedError) Unwrap() error { return e.Err }

func (e *HintedError) Hint() string { return e.Advice }

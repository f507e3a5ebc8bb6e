package admission

import (
	"bytes"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// metadataReader reads the metadata of an object as it passes through a review. It skips
// values of the wrong type and remembers them, so that the rest of the review can be
// read.
type metadataReader struct {
	*jsontext.Decoder
	odd    error
	fields span
}

func (r *metadataReader) object(m *metadata) error {
	return r.members(func(name string) error {
		if name != "metadata" {
			return r.SkipValue()
		}
		return r.members(func(name string) error { return r.metadata(m, name) })
	})
}

func (r *metadataReader) metadata(m *metadata, name string) (err error) {
	switch name {
	case "name":
		m.Name, err = r.text()
	case "generateName":
		m.GenerateName, err = r.text()
	case "namespace":
		m.Namespace, err = r.text()
	case "uid":
		var uid string
		uid, err = r.text()
		m.UID = types.UID(uid)
	case "resourceVersion":
		m.ResourceVersion, err = r.text()
	case "managedFields":
		started := r.InputOffset()
		m.ManagedFields, err = r.entries()
		r.fields = span{started, r.InputOffset()}
	default:
		err = r.SkipValue()
	}
	return err
}

func (r *metadataReader) entries() ([]metav1.ManagedFieldsEntry, error) {
	if ok, err := r.begins('['); !ok {
		return nil, err
	}
	var entries []metav1.ManagedFieldsEntry
	for r.PeekKind() != ']' {
		var f metav1.ManagedFieldsEntry
		if err := r.members(func(name string) error { return r.entry(&f, name) }); err != nil {
			return nil, err
		}
		entries = append(entries, f)
	}
	_, err := r.ReadToken()
	return entries, err
}

func (r *metadataReader) entry(f *metav1.ManagedFieldsEntry, name string) (err error) {
	switch name {
	case "manager":
		f.Manager, err = r.text()
	case "operation":
		var operation string
		operation, err = r.text()
		f.Operation = metav1.ManagedFieldsOperationType(operation)
	case "apiVersion":
		f.APIVersion, err = r.text()
	case "subresource":
		f.Subresource, err = r.text()
	case "fieldsType":
		f.FieldsType, err = r.text()
	case "time":
		f.Time, err = r.time()
	case "fieldsV1":
		if r.PeekKind() == 'n' {
			return r.SkipValue()
		}
		var set jsontext.Value
		set, err = r.ReadValue()
		f.FieldsV1 = &metav1.FieldsV1{}
		f.FieldsV1.SetRawBytes(bytes.Clone(set))
	default:
		err = r.SkipValue()
	}
	return err
}

// members reads a map: read is called behind each name, and reads the value.
func (r *metadataReader) members(read func(name string) error) error {
	if ok, err := r.begins('{'); !ok {
		return err
	}
	for r.PeekKind() != '}' {
		token, err := r.ReadToken()
		if err != nil {
			return err
		}
		if err := read(token.String()); err != nil {
			return err
		}
	}
	_, err := r.ReadToken()
	return err
}

// text reads a text, and skips any other value.
func (r *metadataReader) text() (string, error) {
	if ok, err := r.is('"'); !ok {
		return "", err
	}
	token, err := r.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func (r *metadataReader) time() (*metav1.Time, error) {
	text, err := r.text()
	if err != nil || text == "" {
		return nil, err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.odd = fmt.Errorf("read %s: it is not a time", r.StackPointer())
		return nil, nil
	}
	return &metav1.Time{Time: t}, nil
}

// begins reads the beginning of a map or a list, and skips any other value.
func (r *metadataReader) begins(kind jsontext.Kind) (bool, error) {
	if ok, err := r.is(kind); !ok {
		return false, err
	}
	_, err := r.ReadToken()
	return err == nil, err
}

// is reports whether a value of a kind comes next, and skips any other value.
func (r *metadataReader) is(kind jsontext.Kind) (bool, error) {
	next := r.PeekKind()
	if next == kind {
		return true, nil
	}
	if err := r.SkipValue(); err != nil {
		return false, err
	}
	if next != 'n' {
		r.odd = fmt.Errorf("read %s: it is %s, not %s", r.StackPointer(), next, kind)
	}
	return false, nil
}

// metadata is the part of an object that is always read. Its field sets are kept as the
// original bytes, so that two of them can be compared at once.
type metadata struct {
	Name            string
	GenerateName    string
	Namespace       string
	UID             types.UID
	ResourceVersion string
	ManagedFields   []metav1.ManagedFieldsEntry
}

// span is a part of a body, from one byte to another.
type span struct{ from, to int64 }

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// pageSpare is how many more objects than we look for one page may hold.
	pageSpare = 500
	// farMore is how many objects we read past for one that we look for, before
	// reading each by itself is less work.
	farMore = 20
	// oftenAnew is how often a list that is too old to go on with is taken up again.
	oftenAnew = 3
)

// list reads a namespace page by page, visits what is looked for and takes it
// out of left. It returns false when what is left is better read one by one.
// Most sets are one page; the second is all the rest.
func (r *reading) list(ctx context.Context, namespace string, left map[string]int) (whole bool, err error) {
	size := 2*len(left) + pageSpare
	next, anew := "", 0
	for {
		var page metav1.ListMeta
		q := request{
			ref:   object.Ref{GVK: r.kind.GVK, Namespace: namespace},
			about: r.refsOf(left),
			young: r.client.kinds.isYoung(r.kind.GVK),
			bulk:  true,
		}
		err := r.client.do(ctx, q, func(ctx context.Context) error {
			var err error
			page, err = r.page(ctx, namespace, size, next, left)
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && next != "" && anew < oftenAnew:
			// The list is too old to go on with. The server may say how to go on with
			// one of now; else it is begun again, for what is left.
			anew++
			next = statusOf(err).Continue
			if next == "" {
				size = 2*len(left) + pageSpare
			}
			continue
		case apierrors.IsResourceExpired(err) && next != "":
			return false, nil
		case unserved(statusOf(err)):
			r.client.kinds.forget(r.kind.GVK)
			return false, &NoKindError{GVK: r.kind.GVK}
		case err != nil:
			return false, err
		case page.Continue == "", len(left) == 0:
			return true, nil
		case page.RemainingItemCount == nil, *page.RemainingItemCount > int64(farMore*len(left)):
			return false, nil
		}
		next, size = page.Continue, 0
	}
}

func (r *reading) refsOf(left map[string]int) []object.Ref {
	refs := make([]object.Ref, 0, len(left))
	for _, i := range left {
		refs = append(refs, r.refs[i])
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

// page reads one page as a stream: of what nobody looks for, only the name is
// decoded.
func (r *reading) page(ctx context.Context, namespace string, size int, next string, left map[string]int) (metav1.ListMeta, error) {
	get := r.client.rest.Get().AbsPath(resourcePath(r.kind, namespace)...)
	if size > 0 {
		get = get.Param("limit", strconv.Itoa(size))
	}
	if next != "" {
		get = get.Param("continue", next)
	}
	body, err := get.Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	meta, err := readList(body, func(item []byte) error {
		name, err := nameOf(item)
		if err != nil {
			return err
		}
		i, wanted := left[name]
		if !wanted {
			return nil
		}
		live, err := r.decode(item)
		if err != nil {
			return err
		}
		delete(left, name)
		r.see(i, live, nil)
		return nil
	})
	if err == nil {
		_, err = io.Copy(io.Discard, body) // So that HTTP/1.1 keeps the connection.
	}
	return meta, err
}

// nameOf reads no further than the name, which mostly is at the beginning.
func nameOf(item []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(item))
	for _, field := range []string{"metadata", "name"} {
		if err := seek(dec, field); err != nil {
			return "", err
		}
	}
	var name string
	err := dec.Decode(&name)
	return name, err
}

// seek goes into an object, up to the value of a field.
func seek(dec *json.Decoder, field string) error {
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil || name == field {
			return err
		}
		if err := dec.Decode(&json.RawMessage{}); err != nil {
			return err
		}
	}
	return fmt.Errorf("item of a list: no %s", field)
}

// decode reads an item of a list, which does not say of what kind it is.
func (r *reading) decode(item []byte) (*unstructured.Unstructured, error) {
	var u unstructured.Unstructured
	if err := unmarshal(item, &u.Object); err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(r.kind.GVK)
	return &u, nil
}

// readList reads a list and calls see for each item, without holding more than
// one of them.
func readList(body io.Reader, see func(item []byte) error) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	dec := json.NewDecoder(body)
	if err := expect(dec, json.Delim('{')); err != nil {
		return meta, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return meta, cut(err)
		}
		switch name {
		case "metadata":
			err = dec.Decode(&meta)
		case "items":
			err = readItems(dec, see)
		default:
			err = dec.Decode(&json.RawMessage{})
		}
		if err != nil {
			return meta, cut(err)
		}
	}
	return meta, expect(dec, json.Delim('}'))
}

func readItems(dec *json.Decoder, see func(item []byte) error) error {
	first, err := dec.Token()
	if err != nil || first == nil { // An empty list may be null.
		return err
	}
	if first != json.Delim('[') {
		return fmt.Errorf("items of a list: unexpected %v", first)
	}
	var item json.RawMessage
	for dec.More() {
		item = item[:0]
		if err := dec.Decode(&item); err != nil {
			return err
		}
		if err := see(item); err != nil {
			return err
		}
	}
	return expect(dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err != nil {
		return cut(err)
	}
	if got != want {
		return fmt.Errorf("list: %v where %v should be", got, want)
	}
	return nil
}

// cut makes the end of a stream that ends too early an error of the connection.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

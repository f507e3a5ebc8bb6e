package cluster

import (
	"context"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// watchPage is how many objects are asked for at once: most lists are one
	// page, and none holds the server up for long.
	watchPage = 1000
	// watchRestarts is how often a list that gets too old between two pages is
	// begun anew before all of it is asked for at once.
	watchRestarts = 2
)

// list reads everything selected, page by page, and tells of what is new, what
// changed and what is gone. It asks for the newest state, never for one that a
// cache of the server's may have kept: an older version of an object may be one
// that was ready.
func (w *watching) list(ctx context.Context) error {
	size := watchPage
	for restarts := 0; ; restarts++ {
		if restarts >= watchRestarts {
			size = 0
		}
		w.round++
		version, err := w.pages(ctx, size)
		if apierrors.IsResourceExpired(err) && size > 0 {
			continue
		}
		if err != nil {
			return err
		}
		w.version = version
		w.sweep()
		return nil
	}
}

func (w *watching) pages(ctx context.Context, size int) (version string, err error) {
	for next := ""; ; {
		var page metav1.ListMeta
		err := w.do(ctx, func(ctx context.Context) error {
			var err error
			page, err = w.page(ctx, size, next)
			return err
		})
		if err != nil || page.Continue == "" {
			return page.ResourceVersion, err
		}
		next = page.Continue
	}
}

// page reads one page as a stream. One that breaks off is read again; what was
// told of it already is not told again.
func (w *watching) page(ctx context.Context, size int, next string) (metav1.ListMeta, error) {
	get := w.collection()
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
		u := &unstructured.Unstructured{}
		if err := unmarshal(item, &u.Object); err != nil {
			return err
		}
		u.SetGroupVersionKind(w.kind.GVK) // An item of a list does not say it.
		w.present(u)
		return nil
	})
	if err == nil {
		_, err = io.Copy(io.Discard, body) // So that HTTP/1.1 keeps the connection.
	}
	return meta, err
}

package client

import (
	"context"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Log is the end of a container's log.
type Log struct {
	Namespace, Pod, Container string
	// Previous means the instance before the present one.
	Previous bool
	// Lines are read at most, and Bytes of them.
	Lines, Bytes int
}

// Log reads the end of a container's log, unchanged.
func (n *NoRetry) Log(ctx context.Context, l Log) (string, error) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: l.Namespace, Name: l.Pod}
	var text []byte
	err := n.do(ctx, ref, func(ctx context.Context) error {
		r := n.client.rest.Get().AbsPath("api", "v1", "namespaces", l.Namespace, "pods", l.Pod, "log").
			SetHeader("Accept", "*/*").
			Param("container", l.Container).
			Param("tailLines", strconv.Itoa(l.Lines)).
			Param("limitBytes", strconv.Itoa(l.Bytes))
		if l.Previous {
			r.Param("previous", "true")
		}
		body, err := r.Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // It was read, or it failed before.
		text, err = io.ReadAll(io.LimitReader(body, int64(l.Bytes)))
		return err
	})
	return string(text), err
}

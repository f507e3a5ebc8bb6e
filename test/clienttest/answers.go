package clienttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrRefused is the error of a connection that the server refuses.
var ErrRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// BrokenBody is the rest of a body whose connection breaks with an error.
type BrokenBody struct{ Err error }

// Read returns the error.
func (b BrokenBody) Read([]byte) (int, error) { return 0, b.Err }

// Reply returns an answer with JSON.
func Reply(code int, body any, header ...string) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Text(code, "application/json", string(text), header...)
}

// Text returns an answer with a body of a media type. The headers are names and values in turn.
func Text(code int, mediaType, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {mediaType}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		Status: strconv.Itoa(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// Failure returns an API server's refusal.
func Failure(code int, reason metav1.StatusReason, details *metav1.StatusDetails, header ...string) *http.Response {
	return Reply(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Details: details,
		Message: fmt.Sprintf("%d %s", code, reason),
	}, header...)
}

// HTML returns an answer of a gateway, not of an API server.
func HTML(code int) *http.Response {
	return Text(code, "text/html", "<html>bad gateway</html>")
}

// OK answers a request for an object with an object of that name.
func OK(req *http.Request) *http.Response {
	parts := strings.Split(req.URL.Path, "/")
	u := NewObject(ConfigMaps(), parts[len(parts)-1])
	u.SetUID("u")
	return Reply(http.StatusOK, u)
}

// Items returns a page of a list.
func Items(next string, names ...string) map[string]any {
	list := []any{}
	for _, name := range names {
		list = append(list, map[string]any{"metadata": map[string]any{"name": name, "namespace": "prod", "uid": name}})
	}
	return map[string]any{
		"kind": "ConfigMapList", "apiVersion": "v1",
		"metadata": map[string]any{"continue": next, "resourceVersion": "1"}, "items": list,
	}
}

// Hang accepts each request and never answers.
func Hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

package connection

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// sentObject returns the object in a request; nil if there is none.
func sentObject(req *http.Request) *unstructured.Unstructured {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	return decodeObject(body)
}

func decodeObject(r io.Reader) *unstructured.Unstructured {
	var fields map[string]any
	if json.NewDecoder(r).Decode(&fields) != nil {
		return nil
	}
	return &unstructured.Unstructured{Object: fields}
}

// withheld replaces text from the server about a Secret that cannot be read.
const withheld = "(withheld: it may quote values of this Secret, which cannot be read)"

// censor returns a function that masks the text of a response. The text of a failed read with the
// status 401, 403, 404, 410 or 429 quotes none of the Secret's values. The text of a read with any
// other status, or of a write to a Secret that cannot be read, may quote them, so the function
// withholds it.
func (t *maskingTransport) censor(req *http.Request, status int, sent *unstructured.Unstructured) func(string) string {
	if sent != nil {
		t.vault.Learn(sent.Object)
	}
	if req.Method == http.MethodGet {
		return func(text string) string {
			switch status {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests:
				return t.vault.Text(text)
			default:
				return withheld
			}
		}
	}
	live, refusal, err := t.live(req)
	return func(text string) string {
		switch {
		case err == nil:
			return t.vault.Text(redact.Text(sent, redact.Text(live, text)))
		case status == http.StatusForbidden && refusal != "" && text == strings.Replace(refusal, " cannot get ", " cannot "+strings.ToLower(req.Method)+" ", 1):
			return text // Authorization failed before the server read the object.
		default:
			return withheld
		}
	}
}

// live reads the Secret that a request is about. refusal is the server's response if the user is
// not allowed to read it.
func (t *maskingTransport) live(req *http.Request) (live *unstructured.Unstructured, refusal string, err error) {
	get, err := http.NewRequestWithContext(req.Context(), http.MethodGet, req.URL.String(), nil)
	if err != nil {
		return nil, "", err
	}
	get.URL.RawQuery = ""
	get.Header = req.Header.Clone()
	get.Header.Del("Content-Type")
	get.Header.Del("Audit-ID")
	get.Header.Set("Accept", "application/json")
	resp, err := t.next.RoundTrip(get)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	live = decodeObject(resp.Body)
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, "", nil
	case live == nil:
		return nil, "", errors.New(resp.Status)
	case resp.StatusCode == http.StatusForbidden:
		refusal, _, _ = unstructured.NestedString(live.Object, "message")
		return nil, refusal, errors.New(resp.Status)
	case resp.StatusCode != http.StatusOK:
		return nil, "", errors.New(resp.Status)
	}
	t.vault.Learn(live.Object)
	return live, "", nil
}

// maskWarnings masks the texts of Warning headers, and drops invalid headers.
func maskWarnings(header http.Header, say func(string) string) {
	warnings, _ := utilnet.ParseWarningHeaders(header.Values("Warning"))
	header.Del("Warning")
	for _, w := range warnings {
		if masked, err := utilnet.NewWarningHeader(w.Code, w.Agent, say(w.Text)); err == nil {
			header.Add("Warning", masked)
		}
	}
}

// withMaskedBody masks the messages in a Kubernetes Status. It masks any other body as plain text.
func withMaskedBody(resp *http.Response, say func(string) string) (*http.Response, error) {
	body, readErr := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" {
		status.Message = say(status.Message)
		if status.Details != nil {
			for i := range status.Details.Causes {
				cause := &status.Details.Causes[i]
				cause.Message = say(cause.Message)
			}
		}
		if masked, err := json.Marshal(status); err == nil {
			body = masked
		}
	} else {
		body = []byte(say(string(body)))
	}
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), &ending{readErr}))
	return resp, nil
}

// ending follows the content of a replaced body. It returns the error with which the original body
// ended.
type ending struct{ err error }

func (e *ending) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

// learningBody learns the values of Secrets before its reader has received a complete object: at
// the end of the body or, for a watch, at the end of each line.
type learningBody struct {
	io.ReadCloser
	vault  *redact.Vault
	stream bool
	read   []byte
}

func (b *learningBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = append(b.read, p[:n]...)
	for b.stream {
		end := bytes.IndexByte(b.read, '\n')
		if end < 0 {
			break
		}
		b.learn(b.read[:end])
		b.read = b.read[end+1:]
	}
	if err != nil {
		b.learn(b.read)
		b.read = nil
	}
	return n, err
}

func (b *learningBody) learn(text []byte) {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return
	}
	if inner, ok := fields["object"].(map[string]any); ok && fields["type"] != nil { // a watch event
		fields = inner
	}
	b.vault.Learn(fields)
}

// Writers returns filters for stdout and stderr that mask every value in the vault. flush writes
// any buffered output.
func Writers(vault *redact.Vault, stdout, stderr io.Writer) (out, errOut io.Writer, flush func()) {
	first, second := vault.Writer(stdout), vault.Writer(stderr)
	return first, second, func() {
		_, _ = first.Flush(), second.Flush()
	}
}

// Bare returns the underlying writer, without the mask, so that callers can check whether it is a
// terminal.
func Bare(w io.Writer) io.Writer {
	for {
		wrapped, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapped.Unwrap()
	}
}

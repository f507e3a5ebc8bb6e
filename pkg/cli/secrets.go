package cli

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
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// masked returns the streams with a net below all that is masked before: what the vault
// knows does not get through. flush writes what is held back.
func masked(streams genericiooptions.IOStreams, vault *redact.Vault) (out genericiooptions.IOStreams, flush func()) {
	stdout, stderr := vault.Writer(streams.Out), vault.Writer(streams.ErrOut)
	return genericiooptions.IOStreams{In: streams.In, Out: stdout, ErrOut: stderr}, func() {
		_, _ = stdout.Flush(), stderr.Flush() // Nobody is left to be told.
	}
}

// bare returns what a stream writes to, for what has to know whether it is a terminal.
func bare(w io.Writer) io.Writer {
	for {
		wrapped, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapped.Unwrap()
	}
}

// masking masks events on their way to the printer: before a value can be cut, wrapped or
// escaped, which would keep it from being recognised.
//
// The commands in them get the flags of the connection.
func (c *connection) masking() func(event.Event) event.Event {
	typed := c.typed()
	fill := func(text string) string { return command.Fill(text, typed) }
	return func(e event.Event) event.Event {
		masked, _ := c.vault.Deep(e, fill).(event.Event)
		return masked
	}
}

// say is masking for a text.
func (c *connection) say(text string) string { return command.Fill(c.vault.Text(text), c.typed()) }

// secretsTransport learns the values of Secrets from what the server answers, before
// anybody else reads it. What the server says about a Secret (an error, a warning) is
// masked right here, short values included; to mask it, what the server has of the
// Secret has to be known, and so is asked for. Where it cannot be known, nothing is left
// of the text.
type secretsTransport struct {
	next  http.RoundTripper
	vault *redact.Vault
	// base is what comes before every path on the server.
	base string
}

// WrappedRoundTripper lets apimachinery see what is below.
func (t *secretsTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *secretsTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !isAboutSecrets(t.base, req.URL.Path) {
		return t.next.RoundTrip(req)
	}
	sent := sentObject(req)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	failed := resp.StatusCode >= http.StatusBadRequest
	if !failed && len(resp.Header.Values("Warning")) == 0 {
		resp.Body = &learningBody{ReadCloser: resp.Body, vault: t.vault, stream: req.URL.Query().Has("watch")}
		return resp, nil
	}
	say := t.censor(req, resp.StatusCode, sent)
	maskWarnings(resp.Header, say)
	if failed {
		return withMaskedBody(resp, say)
	}
	resp.Body = &learningBody{ReadCloser: resp.Body, vault: t.vault}
	return resp, nil
}

// isAboutSecrets reports whether a request to a server whose paths are below base is about
// Secrets of the core group. A request that was redirected to elsewhere is so if it may be:
// what comes before its path is not known.
func isAboutSecrets(base, path string) bool {
	if below, ours := strings.CutPrefix(path, base+"/"); ours {
		version, found := strings.CutPrefix(below, "api/")
		return found && isSecretsPath(version)
	}
	for rest, found := path, true; found; {
		if _, rest, found = strings.Cut(rest, "/api/"); found && isSecretsPath(rest) {
			return true
		}
		rest = "/" + rest // The slash may belong to the next one, too.
	}
	return false
}

// isSecretsPath reports whether a path that begins with a version of the core group leads to
// Secrets.
func isSecretsPath(path string) bool {
	parts := strings.Split(path, "/")[1:] // without the version
	if len(parts) > 0 && parts[0] == "watch" {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) > 0 && parts[0] == "secrets"
}

// sentObject is what a request sends; nil if that is no object.
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

// withheld stands for what the server said of a Secret that we cannot read.
const withheld = "(withheld: it may quote values of this Secret, which cannot be read)"

// censor returns what masks what the server says in answer to a request. A refusal of
// who we are or what we may do comes before anybody looks at the object, and so does one
// to read it: neither quotes it. An answer to a read that went wrong may quote anything.
func (t *secretsTransport) censor(req *http.Request, status int, sent *unstructured.Unstructured) func(string) string {
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
			return text // Who may not write may not read either: nobody has looked at the object.
		default:
			return withheld
		}
	}
}

// live asks for the Secret that a request was about, as it is now; nil if it is not
// there. refusal is the server's word if it does not let us.
func (t *secretsTransport) live(req *http.Request) (live *unstructured.Unstructured, refusal string, err error) {
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

// maskWarnings masks the texts of warnings. What is no warning is heard by nobody.
func maskWarnings(header http.Header, say func(string) string) {
	warnings, _ := utilnet.ParseWarningHeaders(header.Values("Warning"))
	header.Del("Warning")
	for _, w := range warnings {
		if masked, err := utilnet.NewWarningHeader(w.Code, w.Agent, say(w.Text)); err == nil {
			header.Add("Warning", masked)
		}
	}
}

// withMaskedBody masks what an answer that is an error says. What is no Status of
// Kubernetes is masked as the text that it is.
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

// ending ends a body as another one ended.
type ending struct{ err error }

func (e *ending) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

// learningBody learns from a body that is read through it, before its reader knows that
// it has all of an object: at the end, or of a watch at the end of each line.
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
	if inner, ok := fields["object"].(map[string]any); ok && fields["type"] != nil { // an event of a watch
		fields = inner
	}
	b.vault.Learn(fields)
}

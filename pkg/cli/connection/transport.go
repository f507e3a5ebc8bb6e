package connection

import (
	"net/http"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Transport learns the values of Secrets from the server's answers, before any other code
// reads them. It masks what the server says about a Secret (an error, a warning) at once,
// short values included. Masking requires what the server has of the Secret, so it reads
// that; if it cannot, it withholds the whole text.
//
// base precedes every path on the server.
func Transport(next http.RoundTripper, vault *redact.Vault, base string) http.RoundTripper {
	return &maskingTransport{next: next, vault: vault, base: base}
}

type maskingTransport struct {
	next  http.RoundTripper
	vault *redact.Vault
	base  string
}

// WrappedRoundTripper gives apimachinery access to the inner transport.
func (t *maskingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *maskingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
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

// isAboutSecrets reports whether a request to a server whose paths are below base is
// about Secrets of the core group. For a redirected request, whose base is unknown, it
// reports whether it may be.
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

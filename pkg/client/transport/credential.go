package transport

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Renewable reports whether the next request after a response with the status 401 may have another
// credential. client-go then calls a credential program again, and tokenFile reads a token file.
func Renewable(config *rest.Config) bool {
	return config.ExecProvider != nil || config.BearerTokenFile != ""
}

// mayRenew reports whether a request failed only because its credential was rejected, and the next
// request may have another one. A program or a file can return a token that was revoked or rotated
// a moment ago.
func (s *Sender) mayRenew(err error) bool {
	return s.renewable && apierrors.IsUnauthorized(err)
}

// tokenFile is the token file of a configuration, if its path is not empty. client-go reads it once
// a minute at most, also after a 401. So once a token was rejected, each request reads the file.
type tokenFile struct {
	path     string
	rejected atomic.Bool
}

func (f *tokenFile) onResponse(resp *http.Response) {
	if f.path != "" && resp.StatusCode == http.StatusUnauthorized {
		f.rejected.Store(true)
	}
}

// fresh returns the request with the token that the file contains now.
func (f *tokenFile) fresh(req *http.Request) *http.Request {
	if !f.rejected.Load() {
		return req
	}
	content, err := os.ReadFile(f.path)
	if token := strings.TrimSpace(string(content)); err == nil && token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

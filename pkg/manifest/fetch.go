package manifest

import (
	"context"
	"errors"
	"net/http"
	neturl "net/url"
	"regexp"
	"strings"
	"time"
)

const (
	fetchAttempts = 3
	fetchPause    = time.Second
	fetchTimeout  = time.Minute
)

// fetch reads a URL. It follows redirects and tries transient failures (no answer, 429,
// 5xx) three times a second apart, as kubectl does.
func fetch(ctx context.Context, client *http.Client, url string, h *heard) ([]byte, error) {
	if client == nil {
		client = &http.Client{Timeout: fetchTimeout}
	}
	for attempt := 1; ; attempt++ {
		text, again, err := fetchOnce(ctx, client, url, h)
		if err == nil || !again || attempt == fetchAttempts {
			return text, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(fetchPause):
		}
	}
}

func fetchOnce(ctx context.Context, client *http.Client, url string, h *heard) (text []byte, again bool, err error) {
	name := publicURL(url)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, false, unreachable(name, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, true, unreachable(name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		again := resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests
		return nil, again, &inputError{where: name, text: "the server answered " + resp.Status}
	}
	text, err = readAll(name, hearing{resp.Body, h}, maxBytes)
	return text, true, err
}

// unreachable drops the method and the URL that net/http puts before the cause.
func unreachable(name string, err error) error {
	if onURL, ok := errors.AsType[*neturl.Error](err); ok {
		err = onURL.Err
	}
	return &inputError{where: name, err: err}
}

// publicURL is a URL that is safe to show: what stands before its host or after its path
// may be a password or a signature. The URL is cut as text, since one that cannot be
// parsed may hold a password as well.
func publicURL(url string) string {
	shown, _, _ := strings.Cut(withoutUsers(url), "#")
	path, query, _ := strings.Cut(shown, "?")
	if query != "" {
		path += "?***"
	}
	return path
}

// withoutUsers removes user names, passwords and tokens from the URLs of a text.
func withoutUsers(text string) string {
	return regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*:/+)[^/?#\s'"]*@`).ReplaceAllString(text, "$1")
}

// publicURLs makes the URLs in a text safe to show.
func publicURLs(text string) string {
	return regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*:/+[^\s'"]+`).ReplaceAllStringFunc(text, publicURL)
}

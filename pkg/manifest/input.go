package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// maxBytes limits the size of a file, URL or stream. etcd stores objects of up to 1.5 MB,
// and no file contains hundreds of objects that large.
const maxBytes = 256 << 20

type input struct {
	name string
	// generated means that the text is a program's output, so line numbers would not help the user.
	generated bool
	open      func(context.Context) ([]byte, error)
}

func (in input) documents(ctx context.Context) ([]*yamldoc.Document, error) {
	text, err := in.text(ctx)
	if err != nil {
		return nil, err
	}
	docs := yamldoc.Split(in.name, text)
	for _, d := range docs {
		if in.generated {
			d.Line = 0
		}
	}
	return docs, nil
}

// text returns the input as UTF-8. It adds a missing newline at the end, even to a block scalar, as
// kubectl does.
func (in input) text(ctx context.Context) ([]byte, error) {
	text, err := in.open(ctx)
	if err != nil {
		return nil, err
	}
	text, err = toUTF8(in.name, text)
	if err == nil && len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(slices.Clip(text), '\n')
	}
	return text, err
}

func isManifestName(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func readAll(name string, r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	if int64(len(text)) > limit {
		return nil, &inputError{where: name, text: fmt.Sprintf("larger than %d MiB", limit>>20)}
	}
	return text, nil
}

// Windows PowerShell writes UTF-16.
func toUTF8(name string, text []byte) ([]byte, error) {
	if isUTF32(text) {
		return nil, &inputError{where: name, text: "UTF-32 text is not supported", hint: "save it as UTF-8"}
	}
	if decoder := utf16Of(text); decoder != nil {
		var err error
		if text, _, err = transform.Bytes(decoder, text); err != nil {
			return nil, &inputError{where: name, err: err}
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if utf8.Valid(text) {
		return text, nil
	}
	line := 1
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
	return nil, &inputError{where: fmt.Sprintf("%s:%d", name, line), text: "not UTF-8 text"}
}

// utf16Of returns a decoder for UTF-16 text, or nil for other text. Without a byte order mark, the
// first character reveals the encoding: it is ASCII in YAML and JSON, so one of its two bytes is
// zero. UTF-8 text must not contain a zero byte (YAML 1.2, 5.2).
func utf16Of(text []byte) transform.Transformer {
	if len(text) < 2 {
		return nil
	}
	order := unicode.LittleEndian
	switch first, second := text[0], text[1]; {
	case first == 0xFF && second == 0xFE, first != 0 && second == 0:
	case first == 0xFE && second == 0xFF, first == 0 && second != 0:
		order = unicode.BigEndian
	default:
		return nil
	}
	return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder()
}

// isUTF32 also recognizes a text without a byte order mark: a manifest begins with ASCII, so three of its
// first four bytes are zero.
func isUTF32(text []byte) bool {
	if len(text) < 4 {
		return false
	}
	a, b, c, d := text[0], text[1], text[2], text[3]
	little := c == 0 && d == 0 && (a == 0xFF && b == 0xFE || a != 0 && b == 0)
	big := a == 0 && b == 0 && (c == 0xFE && d == 0xFF || c == 0 && d != 0)
	return little || big
}

const (
	fetchAttempts = 3
	fetchPause    = time.Second
	fetchTimeout  = time.Minute
)

// fetch tries three times if the server does not answer, or answers with 429 or 5xx, as kubectl
// does. It follows redirects.
func fetch(ctx context.Context, client *http.Client, url string, h *heard) ([]byte, error) {
	if client == nil {
		client = &http.Client{Timeout: fetchTimeout}
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		text, again, err := fetchOnce(ctx, client, url, h)
		if err == nil || !again || attempt == fetchAttempts {
			return text, err
		}
		if time.Since(began) < moment { // The server answered, so the pause does not count as silence.
			h.later(fetchPause)
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
		return nil, again, &inputError{where: name, text: "the server returned " + resp.Status}
	}
	text, err = readAll(name, hearing{resp.Body, h}, maxBytes)
	return text, true, err
}

func unreachable(name string, err error) error {
	if onURL, ok := errors.AsType[*neturl.Error](err); ok {
		err = onURL.Err
	}
	return &inputError{where: name, err: err}
}

// publicURL removes the user, query and fragment, which may contain a password or signature. It
// does not parse the URL, because even an invalid one may contain a password.
func publicURL(url string) string {
	user := regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*:/+)[^/?#\s'"]*@`)
	shown, _, _ := strings.Cut(user.ReplaceAllString(url, "$1"), "#")
	path, query, _ := strings.Cut(shown, "?")
	if query != "" {
		path += "?***"
	}
	return path
}

func publicURLs(text string) string {
	return regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*:/+[^\s'"]+`).ReplaceAllStringFunc(text, publicURL)
}

const (
	// moment is the time without data after which an input is reported as blocked.
	moment = time.Second
	// If standard input, a pipe or a kustomization delivers no data for longestSilence, reading it
	// fails.
	longestSilence = 5 * time.Minute
)

type heard struct{ nanos atomic.Int64 }

func (h *heard) now() { h.later(0) }

func (h *heard) later(pause time.Duration) { h.nanos.Store(time.Now().Add(pause).UnixNano()) }

func (h *heard) lastByte() time.Time { return time.Unix(0, h.nanos.Load()) }

type hearing struct {
	io.Reader
	heard *heard
}

func (r hearing) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.heard.now()
	return n, err
}

type patience struct {
	// These texts describe the input at the beginning of an error message (name) and in the middle
	// of a sentence (what).
	name, what string
	most       time.Duration
	report     func(what string, since time.Time, within time.Duration)
}

// await waits until read returns, ctx ends, or the input has delivered no data for too long. It
// calls tell when the input blocks. If read ignores ctx, read keeps running until it returns or the
// process ends.
func (p patience) await(ctx context.Context, read func(context.Context, *heard) ([]byte, error)) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		text []byte
		err  error
	}
	h := &heard{}
	h.now()
	done := make(chan answer, 1)
	go func() {
		text, err := read(ctx, h)
		done <- answer{text, err}
	}()
	var reported time.Time
	for {
		since := h.lastByte()
		next := moment
		if reported.Equal(since) {
			next = p.most
		}
		timer := time.NewTimer(time.Until(since.Add(next)))
		select {
		case a := <-done:
			timer.Stop()
			return a.text, a.err
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		switch {
		case !h.lastByte().Equal(since):
		case time.Since(since) >= p.most:
			return nil, &inputError{where: p.name, text: "no input for " + strings.TrimSuffix(p.most.String(), "0s")}
		default:
			reported = since
			if p.report != nil {
				p.report(p.what, since, p.most)
			}
		}
	}
}

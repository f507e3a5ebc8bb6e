package manifest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// maxBytes bounds one file, URL or stream. The largest object that an API server
// accepts is 1.5 MB, and one file does not hold hundreds of those.
const maxBytes = 256 << 20

// input is one text to read.
type input struct {
	name string
	// generated: the text was not written by hand, and its lines mean nothing to
	// the user.
	generated bool
	open      func(context.Context) ([]byte, error)
}

// documents reads the input and cuts it into its documents.
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

// text returns the input as UTF-8. It ends with a newline, as kubectl has it end: a block text
// in its last line has one too.
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

// readAll reads at most limit bytes; more are an error.
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

// toUTF8 removes a byte order mark and converts UTF-16, such as Windows PowerShell
// writes, to UTF-8.
func toUTF8(name string, text []byte) ([]byte, error) {
	if isUTF32(text) {
		return nil, &inputError{where: name, text: "UTF-32 text, which no reader of YAML or JSON accepts", hint: "save it as UTF-8"}
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

// utf16Of returns a decoder for UTF-16 text; nil for any other. Without a mark, the first
// character decides, which is ASCII in YAML and JSON alike: half of it is a zero byte,
// which no UTF-8 text may contain (YAML 1.2, 5.2).
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

// isUTF32 reports whether a text begins with the mark of UTF-32, or with an ASCII
// character in it.
func isUTF32(text []byte) bool {
	if len(text) < 4 {
		return false
	}
	a, b, c, d := text[0], text[1], text[2], text[3]
	little := c == 0 && d == 0 && (a == 0xFF && b == 0xFE || a != 0 && b == 0)
	big := a == 0 && b == 0 && (c == 0xFE && d == 0xFF || c == 0 && d != 0)
	return little || big
}

package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a value as JSON, with a final line break. It escapes unprintable characters, so that
// the result is safe for a terminal.
func JSON(v any, indent string) ([]byte, error) {
	text, err := rawJSON(v, indent)
	if err != nil {
		return nil, err
	}
	return escapeQuoted(text, func(b []byte, r rune) []byte {
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
		return b
	}), nil
}

// rawJSON is JSON without the escaping.
func rawJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// escapeQuoted escapes unprintable characters in a text that contains them only within double
// quotes.
func escapeQuoted(text []byte, spell func([]byte, rune) []byte) []byte {
	plain := func(r rune) bool { return r == '\n' || strconv.IsPrint(r) }
	if !bytes.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	var escaped []byte
	for _, r := range string(text) {
		if plain(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		escaped = spell(escaped, r)
	}
	return escaped
}

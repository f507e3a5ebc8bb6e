package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"
)

// YAML returns a value as YAML that is safe for a terminal. The library leaves some characters
// unescaped that YAML considers printable, such as direction marks; a document with one of them is
// written by [YAMLLines], with quotes and escapes.
func YAML(v any) ([]byte, error) {
	text, err := JSON(v, "")
	if err != nil {
		return nil, err
	}
	// The library does not support surrogate pairs.
	if out, err := yaml.JSONToYAML(text); err == nil && !bytes.ContainsFunc(out, unfit) {
		return out, nil
	}
	var read any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, err
	}
	return []byte(strings.Join(YAMLLines{}.nested(read), "\n") + "\n"), nil
}

// KYAML returns a value as KYAML, a dialect of YAML that quotes all strings and ignores
// indentation. It is safe for a terminal.
func KYAML(v any) ([]byte, error) {
	spell := func(b []byte, r rune) []byte {
		if r > 0xffff { // YAML knows no surrogate pairs.
			return fmt.Appendf(b, `\U%08x`, r)
		}
		return fmt.Appendf(b, `\u%04x`, r)
	}
	text, err := rawJSON(v, "")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := (&kyaml.Encoder{}).FromYAML(bytes.NewReader(escapeQuoted(text, spell)), &out); err != nil {
		return nil, err
	}
	made := escapeQuoted(out.Bytes(), spell)
	if saysTheSame(made, text) {
		return made, nil
	}
	// The library wraps strings, and gets some wrong that have a line beginning with unusual white
	// space, such as the empty lines of a Windows file. JSON is valid YAML.
	if text, err = rawJSON(v, "  "); err != nil {
		return nil, err
	}
	return append([]byte("---\n"), escapeQuoted(text, spell)...), nil
}

// saysTheSame reports whether YAML and JSON decode to the same value.
func saysTheSame(made, text []byte) bool {
	var got, want any
	if err := yaml.Unmarshal(made, &got); err != nil {
		return false
	}
	return json.Unmarshal(text, &want) == nil && reflect.DeepEqual(got, want)
}

func unfit(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

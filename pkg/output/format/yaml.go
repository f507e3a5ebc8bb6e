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

// YAML returns the YAML of a value. It is safe for a terminal: the library leaves characters
// unescaped that YAML considers printable, such as direction marks, so any value with such a
// character is written with quotes and escapes, which mean the same.
func YAML(v any) ([]byte, error) {
	text, err := JSON(v, "")
	if err != nil {
		return nil, err
	}
	// The library knows no surrogate pairs either.
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

// KYAML returns the KYAML of a value, the dialect of YAML in which every text is quoted and blanks
// do not matter. It is safe for a terminal, as JSON is.
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
	// The library breaks texts into lines, and gets one wrong if a line begins with a blank that is
	// not plain, such as the empty lines of a file from Windows. JSON is YAML too.
	if text, err = rawJSON(v, "  "); err != nil {
		return nil, err
	}
	return append([]byte("---\n"), escapeQuoted(text, spell)...), nil
}

// saysTheSame reports whether the YAML is read as the same value as the JSON.
func saysTheSame(made, text []byte) bool {
	var got, want any
	if err := yaml.Unmarshal(made, &got); err != nil {
		return false
	}
	return json.Unmarshal(text, &want) == nil && reflect.DeepEqual(got, want)
}

// unfit reports whether a terminal must not get a character.
func unfit(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

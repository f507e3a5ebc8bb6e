package printer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// encodeYAML returns the YAML of a value. It is plain text for a terminal too: the
// library leaves raw what YAML takes for printable, such as marks that turn the
// direction of what follows, so that whatever holds anything of the kind is written with
// quotes and escapes, as it says the same.
func encodeYAML(v any) ([]byte, error) {
	text, err := encode(v, "")
	if err != nil {
		return nil, err
	}
	// The library knows no pair of escapes for one character, either.
	if out, err := yaml.JSONToYAML(text); err == nil && !bytes.ContainsFunc(out, unfit) {
		return out, nil
	}
	var read any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, err
	}
	return []byte(strings.Join(yamlWriter{}.nested(read), "\n") + "\n"), nil
}

// unfit reports whether a terminal must not get a character.
func unfit(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

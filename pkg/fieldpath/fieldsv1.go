package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// FromTree reads a fieldsV1 in the form of untyped clients, with the result that [FromJSON]
// has for its text.
func FromTree(tree map[string]any) (*Set, error) {
	set := smd.NewSet()
	return set, decodeFields(set, tree)
}

// FromJSON reads the text of a fieldsV1, as the API server does.
func FromJSON(text io.Reader) (*Set, error) {
	set := smd.NewSet()
	if err := set.FromJSON(text); err != nil {
		return nil, fmt.Errorf("fieldsV1: %w", err)
	}
	return set, nil
}

// ToTree returns a set in the form of untyped clients.
func ToTree(set *Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, json.Unmarshal(text, &tree)
}

// decodeFields fills a set from the tree of one fieldsV1, as the API server does from its
// text: it skips keys of an unknown sort, and an element with nothing known below it is
// held itself.
func decodeFields(set *Set, tree map[string]any) error {
	keys := make([]string, 0, len(tree))
	for key := range tree {
		keys = append(keys, key)
	}
	slices.Sort(keys) // Inserting in order is fast.
	for _, key := range keys {
		if key == "." {
			continue
		}
		pe, err := decodeElement(key)
		if errors.Is(err, smd.ErrUnknownPathElementType) {
			continue
		}
		if err != nil {
			return fmt.Errorf("fieldsV1 key %q: %w", key, err)
		}
		below, ok := tree[key].(map[string]any)
		if !ok && tree[key] != nil {
			return fmt.Errorf("fieldsV1 key %q is not a map", key)
		}
		var child Set
		if err := decodeFields(&child, below); err != nil {
			return err
		}
		empty := child.Empty()
		if _, self := below["."]; self || empty {
			set.Members.Insert(pe)
		}
		if !empty {
			*set.Children.Descend(pe) = child
		}
	}
	return nil
}

// decodeElement reads one key of a fieldsV1. Most are names of fields, and most keys of
// list items are one plain string, which needs no JSON reader.
func decodeElement(key string) (Element, error) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		return Element{FieldName: &name}, nil
	}
	if text, ok := strings.CutPrefix(key, `k:{"`); ok {
		name, v, found := strings.Cut(text, `":"`)
		v, ends := strings.CutSuffix(v, `"}`)
		if found && ends && isPlain(name) && strings.IndexFunc(v, isSpecial) < 0 {
			return smd.KeyElement(value.Field{Name: name, Value: value.NewValueInterface(v)}), nil
		}
	}
	return smd.DeserializePathElement(key)
}

// isSpecial reports whether a character needs escaping in a JSON string.
func isSpecial(r rune) bool { return r == '"' || r == '\\' || r < ' ' || r == utf8.RuneError }

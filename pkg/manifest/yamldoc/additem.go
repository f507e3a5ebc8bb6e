package yamldoc

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AddItem adds an item, written in flow style, to the list at a key of a text's only document. It
// returns the line of the item. Everything else stays as written. It returns [ErrForm] if it cannot
// edit the text.
func AddItem(text []byte, key, item string) (edited []byte, at int, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, 0, err
	}
	e := newEditor(text, 0, len(text))
	var before map[string]any
	var added any
	if document.Decode(&before) != nil || yaml.Unmarshal([]byte(item), &added) != nil {
		return nil, 0, ErrForm
	}
	exact := func(edited []byte) bool {
		var after map[string]any
		if yaml.Unmarshal(edited, &after) != nil {
			return false
		}
		list, _ := after[key].([]any)
		old, _ := before[key].([]any)
		at := slices.IndexFunc(list, func(one any) bool { return reflect.DeepEqual(one, added) })
		if at < 0 || len(list) != len(old)+1 || len(old) > 0 && !reflect.DeepEqual(slices.Delete(list, at, at+1), old) {
			return false
		}
		for name := range after {
			if name != key && !reflect.DeepEqual(after[name], before[name]) {
				return false
			}
		}
		return len(after) == len(before) || len(after) == len(before)+1 && before[key] == nil
	}
	return e.first(e.addItem(&document, key, item), item, exact)
}

func (e editor) addItem(document *yaml.Node, key, item string) []edit {
	if len(document.Content) == 0 {
		return []edit{e.appendLines(key+":", "- "+item)}
	}
	top := document.Content[0]
	name, list := child(top, key)
	switch {
	case list == nil && top.Kind == yaml.MappingNode && top.Style&yaml.FlowStyle == 0:
		indent := strings.Repeat(" ", top.Column-1)
		lines := []string{indent + key + ":", indent + "- " + item}
		return []edit{e.appendLines(lines...), e.insertLines(e.start(top.Line), 0, lines...)}
	case list == nil:
		return e.add(nil, top, -1, entry{key: key, flow: "[" + item + "]"})
	case list.Kind != yaml.SequenceNode:
		return nil
	case list.Style&yaml.FlowStyle == 0:
		last := e.below(lastOf(list))
		return []edit{e.insertLines(last, list.Column-1, "- "+item), e.insertLines(e.below(name), list.Column-1, "- "+item)}
	case len(list.Content) == 0:
		return []edit{{at: e.offset(list) + 1, insert: item}}
	}
	return []edit{{at: e.offset(list) + 1, insert: item + ", "}}
}

// appendLines appends lines, the last one with a newline even if the text ends without one.
func (e editor) appendLines(lines ...string) edit {
	appended := e.insertLines(len(e.text), 0, lines...)
	appended.insert = strings.TrimSuffix(appended.insert, e.eol) + e.eol
	return appended
}

func lastOf(n *yaml.Node) *yaml.Node {
	last := n
	for _, c := range n.Content {
		if below := lastOf(c); below.Line >= last.Line {
			last = below
		}
	}
	return last
}

package exclusive_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	yamltext "sigs.k8s.io/yaml"
)

// writer writes objects as people do, each in another style.
type writer struct {
	r *rand.Rand
	b strings.Builder
	// number makes each comment unique.
	number int
}

// written returns a file with the objects, in a random style.
func written(t *testing.T, r *rand.Rand, objects []map[string]any) string {
	t.Helper()
	if len(objects) == 1 && r.IntN(12) == 0 {
		content, err := json.MarshalIndent(objects[0], "", strings.Repeat(" ", 1+r.IntN(4)))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	w := &writer{r: r}
	for i, o := range objects {
		if i > 0 || r.IntN(2) == 0 {
			w.b.WriteString("---\n")
		}
		start := w.b.Len()
		w.fields(o, 0)
		var back map[string]any
		if err := yamltext.Unmarshal([]byte(w.b.String()[start:]), &back); err != nil || !reflect.DeepEqual(back, clone(o)) {
			t.Fatalf("the test writes something else than the object: %v\n%s\n%s", err, w.b.String()[start:], text(o))
		}
	}
	file := w.b.String()
	if r.IntN(5) == 0 && !strings.HasSuffix(file, "\n\n") {
		file = strings.TrimSuffix(file, "\n")
	}
	if r.IntN(6) == 0 {
		file = strings.ReplaceAll(file, "\n", "\r\n")
	}
	return file
}

func (w *writer) comment(indent int) {
	if w.r.IntN(8) == 0 {
		w.number++
		fmt.Fprintf(&w.b, "%s# comment %d\n", strings.Repeat(" ", indent), w.number)
	}
}

func (w *writer) trailing() string {
	if w.r.IntN(8) > 0 {
		return ""
	}
	w.number++
	return fmt.Sprintf(" # comment %d", w.number)
}

func (w *writer) fields(m map[string]any, indent int) {
	names := sorted(m)
	w.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	slices.SortStableFunc(names, func(a, b string) int {
		first := []string{"metadata", "kind", "apiVersion"}
		return slices.Index(first, b) - slices.Index(first, a)
	})
	for i, name := range names {
		if i > 0 { // The first field can stand behind the dash of an item.
			w.comment(indent)
			w.b.WriteString(strings.Repeat(" ", indent))
		} else if s := w.b.String(); s == "" || s[len(s)-1] == '\n' {
			w.b.WriteString(strings.Repeat(" ", indent))
		}
		w.b.WriteString(w.scalar(name) + ":")
		w.value(m[name], indent, false)
	}
}

// value writes a value behind a colon or a dash.
func (w *writer) value(v any, indent int, isItem bool) {
	flow, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	switch v := v.(type) {
	case map[string]any:
		switch {
		case len(v) == 0 || w.r.IntN(6) == 0 && len(flow) < 200:
			fmt.Fprintf(&w.b, " %s%s\n", flow, w.trailing())
		case isItem:
			w.b.WriteString(" ")
			w.fields(v, indent+2)
		default:
			w.b.WriteString(w.trailing() + "\n")
			w.fields(v, indent+2)
		}
	case []any:
		if len(v) == 0 || w.r.IntN(5) == 0 && len(flow) < 200 {
			fmt.Fprintf(&w.b, " %s%s\n", flow, w.trailing())
			return
		}
		w.b.WriteString(w.trailing() + "\n")
		if isItem || w.r.IntN(2) == 0 {
			indent += 2
		}
		for _, item := range v {
			w.comment(indent)
			w.b.WriteString(strings.Repeat(" ", indent) + "-")
			w.value(item, indent, true)
		}
	case string:
		if strings.Contains(v, "\n") && w.block(v, indent) {
			return
		}
		w.b.WriteString(" " + w.scalar(v) + w.trailing() + "\n")
	default:
		fmt.Fprintf(&w.b, " %s%s\n", flow, w.trailing())
	}
}

// block writes a text in block style, if that is possible.
func (w *writer) block(v string, indent int) bool {
	step := 2 + w.r.IntN(3)
	body := strings.TrimRight(v, "\n")
	breaks := len(v) - len(body)
	head, lines := "|", strings.Split(body, "\n")
	if w.r.IntN(4) == 0 {
		head, lines = ">", strings.Split(strings.ReplaceAll(body, "\n", "\n\n"), "\n")
	}
	if strings.HasPrefix(body, " ") || w.r.IntN(6) == 0 {
		head += fmt.Sprint(step)
	}
	switch {
	case breaks == 0:
		head += "-"
	case breaks > 1:
		head += "+"
		lines = append(lines, make([]string, breaks-1)...)
	}
	var b strings.Builder
	b.WriteString(" " + head + w.trailing() + "\n")
	for _, line := range lines {
		if line != "" {
			line = strings.Repeat(" ", indent+step) + line
		}
		b.WriteString(line + "\n")
	}
	var back struct{ K string }
	if yamltext.Unmarshal([]byte(strings.Repeat(" ", indent)+"k:"+b.String()), &back) != nil || back.K != v {
		return false
	}
	w.b.WriteString(b.String())
	return true
}

func (w *writer) scalar(v string) string {
	quoted := text(v)
	for _, s := range []string{v, "'" + strings.ReplaceAll(v, "'", "''") + "'", quoted}[w.r.IntN(3):] {
		var back map[string]any
		if !strings.Contains(s, "\n") && yamltext.Unmarshal([]byte(s+": "+s+" # c"), &back) == nil && len(back) == 1 && back[v] == v {
			return s
		}
	}
	return quoted
}

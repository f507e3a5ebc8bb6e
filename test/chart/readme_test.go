package chart

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the chart's README")

// The README lists all values with their defaults and their comments from values.yaml.
func TestReadme(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(Dir(t), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values yaml.Node
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(Dir(t), "README.md")
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- values -->\n", "<!-- end of values -->\n"
	before, _, _ := strings.Cut(string(is), begin)
	_, after, ok := strings.Cut(string(is), end)
	if !ok {
		t.Fatalf("%s has no line %s", path, end)
	}
	var table bytes.Buffer
	fmt.Fprint(&table, before, begin, "\n| value | default | |\n| --- | --- | --- |\n")
	rows(&table, "", values.Content[0])
	fmt.Fprint(&table, "\n", end, after)
	if *update {
		if err := os.WriteFile(path, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table.String(), string(is)); diff != "" {
		t.Errorf("go test ./test/chart -run TestReadme -update writes it (-want +got):\n%s", diff)
	}
}

// rows writes a row for each value that is not a map of others.
func rows(to *bytes.Buffer, prefix string, of *yaml.Node) {
	comment, line := "", 0
	for i := 0; i < len(of.Content); i += 2 {
		key, value := of.Content[i], of.Content[i+1]
		switch {
		case key.HeadComment != "":
			paragraphs := strings.Split(key.HeadComment, "\n\n")
			comment = strings.ReplaceAll(strings.TrimPrefix(paragraphs[len(paragraphs)-1], "# "), "\n# ", " ")
		case prefix != "" || key.Line > line+1: // It is about the values that stand together.
			comment = ""
		}
		line = lastLine(value)
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Style != yaml.FlowStyle {
			if comment != "" {
				fmt.Fprintf(to, "| `%s%s` | | %s |\n", prefix, key.Value, cell(comment))
			}
			rows(to, prefix+key.Value+".", value)
			continue
		}
		value.HeadComment, value.FootComment = "", ""
		text, _ := yaml.Marshal(value)
		fmt.Fprintf(to, "| `%s%s` | `%s` | %s |\n", prefix, key.Value, strings.TrimSpace(string(text)), cell(comment))
	}
}

func lastLine(n *yaml.Node) int {
	line := n.Line
	for _, below := range n.Content {
		line = max(line, lastLine(below))
	}
	return line
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

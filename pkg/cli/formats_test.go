package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// For each verb, the error for an unknown format names exactly the formats that the verb accepts, and
// so do its full help and its completion.
func TestFormatsAgree(t *testing.T) {
	noCluster(t)
	write(t, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	every := []string{
		"table", "json", "yaml", "kyaml", "name", "stream", "junit", "wide", "markdown", "html", "objects", "objects=json", "objects=kyaml",
		"jsonpath={.kind}", "manifests",
	}
	for _, args := range [][]string{
		{"apply", "-f", "a.yaml", "--dry-run=client"},
		{"diff", "-f", "a.yaml"},
		{"wait", "deploy/x", "--timeout=0"},
		{"delete", "deploy/x"},
		{"stuck"},
		{"unready"},
		{"owners", "deploy/x"},
		{"give", "deploy/x", ".spec.replicas", "--to=a"},
		{"sets"},
		{"sets", "delete", "x"},
		{"deprecated"},
		{"fights"},
		{"releases"},
		{"history", "deploy/x"},
	} {
		verb := args[0]
		_, _, stderr := call(t, append(args, "-o", "nosuch")...)
		line := regexp.MustCompile(`unknown output format "nosuch": use (.*)\n`).FindStringSubmatch(stderr)
		if line == nil {
			t.Errorf("%s: %s", verb, stderr)
			continue
		}
		offered := strings.Split(strings.Replace(line[1], " or ", ", ", 1), ", ")
		_, help, _ := call(t, verb, "--help-all")
		_, completed, _ := call(t, append(append([]string{"__complete"}, args...), "-o", "")...)
		for _, format := range every {
			_, _, stderr := call(t, append(args, "-o", format)...)
			accepted := !strings.Contains(stderr, "unknown output format")
			name := strings.Replace(format, "{.kind}", "TEMPLATE", 1)
			if accepted != slices.Contains(offered, name) {
				t.Errorf("%s -o %s: accepted %t, the error offers %q", verb, format, accepted, offered)
			}
			if accepted && verb != "sets" && !strings.Contains(strings.Join(strings.Fields(help), " "), strings.TrimSuffix(name, "TEMPLATE")) {
				t.Errorf("%s: the help lacks -o %s", verb, format)
			}
			word := strings.Replace(format, "{.kind}", "", 1)
			if accepted && !slices.Contains(strings.Split(completed, "\n"), word) {
				t.Errorf("%s: the completion lacks -o %s: %s", verb, format, completed)
			}
		}
	}
}

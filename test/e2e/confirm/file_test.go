package confirm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A file with the reviewed plan is accepted in each form that shows the same to a person. Any other file ends
// the run with an error before it writes, and never with a panic.
func TestConfirmFiles(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	var set small
	renew := func() string {
		set = newSmall(t, c)
		text, err := os.ReadFile(set.plan)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := renew()
	replaced := func(old, by string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, by, 1) }
	}
	before := func(field, text string) func(string) string { return replaced(`"`+field+`":`, text+`"`+field+`":`) }
	deep := func(open, close string) func(string) string {
		const depth = 200_000
		return before("objects", `"x": `+strings.Repeat(open, depth)+strings.Repeat(close, depth)+", ")
	}
	all := map[string]struct {
		form func(string) string
		ok   bool
	}{
		"as printed":  {func(text string) string { return text }, true},
		"with a BOM":  {func(text string) string { return "\ufeff" + text }, true},
		"CRLF":        {func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }, true},
		"blank lines": {func(text string) string { return "\n\n" + text + "\n\n" }, true},
		"one line":    {func(text string) string { var b bytes.Buffer; _ = json.Compact(&b, []byte(text)); return b.String() }, true},
		"other order": {func(text string) string {
			var all any
			_ = json.Unmarshal([]byte(text), &all)
			out, _ := json.Marshal(all)
			return string(out)
		}, true},
		"YAML":          {func(text string) string { out, _ := yaml.JSONToYAML([]byte(text)); return string(out) }, true},
		"YAML with ---": {func(text string) string { out, _ := yaml.JSONToYAML([]byte(text)); return "---\n" + string(out) }, true},
		"UTF-16": {func(text string) string {
			out := []byte{0xff, 0xfe}
			for _, unit := range utf16.Encode([]rune(text)) {
				out = append(out, byte(unit), byte(unit>>8))
			}
			return string(out)
		}, true},
		"escaped letters": {replaced(`"action": "configured"`, `"action": "c\u006fnfigured"`), true},

		"gzip": {func(text string) string {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte(text))
			_ = w.Close()
			return b.String()
		}, false},
		"empty":                          {func(string) string { return "" }, false},
		"null":                           {func(string) string { return "null" }, false},
		"a list":                         {func(text string) string { return "[" + text + "]" }, false},
		"a text":                         {func(string) string { return `"plan"` }, false},
		"cut":                            {func(text string) string { return text[:len(text)/2] }, false},
		"cut at the end":                 {func(text string) string { return strings.TrimRight(text, "}\n ") }, false},
		"a tail":                         {func(text string) string { return text + "x" }, false},
		"two documents":                  {func(text string) string { return text + text }, false},
		"two documents in YAML":          {func(text string) string { return text + "\n---\n" + text }, false},
		"a second, empty one":            {func(text string) string { return text + "\n---\n{}\n" }, false},
		"a NUL":                          {func(text string) string { return text + "\x00" }, false},
		"invalid UTF-8":                  {replaced(`"action": "configured"`, "\"action\": \"configured\xff\""), false},
		"objects twice":                  {before("objects", `"objects": [], `), false},
		"digest twice":                   {before("digest", `"digest": "v2-00000000000000000000000000000000", `), false},
		"an action twice":                {before("action", `"action": "unchanged", `), false},
		"an escaped key twice":           {before("action", `"\u0061ction": "unchanged", `), false},
		"a look-alike of an action":      {replaced(`"configured"`, `"configur`+"\u0435"+`d"`), false},
		"a look-alike of a name":         {replaced(`"name": "new"`, `"name": "n`+"\u0435"+`w"`), false},
		"a decomposed name":              {replaced(`"name": "new"`, `"name": "ne`+"\u0301"+`w"`), false},
		"an invisible letter":            {replaced(`"name": "new"`, `"name": "new`+"\u200b"+`"`), false},
		"a look-alike of the digest":     {replaced(`"digest": "v2-`, `"digest": "v2`+"\u2010"), false},
		"upper case in a digest":         {func(text string) string { return strings.Replace(text, `"v2-`, `"V2-`, 1) }, false},
		"another version of the digest":  {replaced(`"v2-`, `"v3-`), false},
		"a huge number for a value":      {replaced(`"to": "2"`, `"to": 1e999`), false},
		"a long number for a value":      {replaced(`"to": "2"`, `"to": 1`+strings.Repeat("0", 5000)), false},
		"a huge number in the summary":   {replaced(`"created": `, `"created": 99999999999999999999`), false},
		"a negative number":              {replaced(`"created": `, `"created": -`), false},
		"a fraction":                     {replaced(`"created": `, `"created": 0.`), false},
		"not a number":                   {replaced(`"to": "2"`, `"to": NaN`), false},
		"a list for an object":           {before("objects", `"objects": [[]], "x": [], "was`), false},
		"an object for a list":           {replaced(`"changes": [`, `"changes": {"x": [`), false},
		"objects as an object":           {replaced(`"objects": [`, `"objects": {}, "x": [`), false},
		"null for objects":               {replaced(`"objects": [`, `"objects": null, "x": [`), false},
		"deep lists":                     {deep("[", "]"), false},
		"deep objects":                   {deep(`{"a":`, "}"), false},
		"another kind":                   {replaced(`"DiffResult"`, `"ApplyResult"`), false},
		"no kind":                        {replaced(`"DiffResult"`, `""`), false},
		"an alias bomb":                  {func(string) string { return bomb() }, false},
		"another object beside":          {replaced(`"objects": [`, `"objects": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "action": "pruned", "digest": "00000000000000000000000000000000"}, `), false},
		"an object without digest":       {replaced(`"objects": [`, `"objects": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "action": "created"}, `), false},
		"an unchanged object with parts": {replaced(`"objects": [`, `"objects": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "action": "unchanged", "changes": [{"path": ".a"}]}, `), false},
	}
	names := slices.Sorted(maps.Keys(all))
	random := e2etest.Randomly(t)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:circle.Of(15, len(names), len(names))] {
		tt := all[name]
		t.Run(name, func(t *testing.T) {
			plan := filepath.Join(t.TempDir(), "plan.json")
			edited := tt.form(whole)
			if edited == whole && name != "as printed" {
				t.Fatal("the form is that of the plan")
			}
			if err := os.WriteFile(plan, []byte(edited), 0o600); err != nil {
				t.Fatal(err)
			}
			judgeFile(t, &set, plan, tt.ok)
			if tt.ok {
				whole = renew()
			}
		})
	}
	t.Run("a link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "plan.json")
		if err := os.Symlink(set.plan, link); err != nil {
			t.Fatal(err)
		}
		judgeFile(t, &set, link, true)
		renew()
	})
	for name, plan := range map[string]string{
		"a folder": t.TempDir(), "no file": "none.json", "a device": os.DevNull, "a name without form": "plan", "the input": set.args[len(set.args)-1],
		"an endless device": "/dev/zero",
	} {
		t.Run(name, func(t *testing.T) { judgeFile(t, &set, plan, false) })
	}
}

// judgeFile runs the plan in a file.
func judgeFile(t *testing.T, set *small, plan string, ok bool) {
	t.Helper()
	was := set.versions(t)
	r := e2etest.Plugin(t, set.c.KubeconfigPath, set.confirm(plan)...)
	if strings.Contains(r.Stderr.String(), "panic") || strings.Contains(r.Stderr.String(), "goroutine") {
		t.Fatalf("a panic: %s", r)
	}
	if ok {
		set.isReviewed(t, r.Ends(t, 0))
		return
	}
	if code := r.Cmd.ProcessState.ExitCode(); code != 1 && code != 2 || !strings.Contains(r.Stderr.String(), "error: ") {
		t.Errorf("the run ends with %d: %s", code, r)
	}
	if now := set.versions(t); now != was {
		t.Errorf("the refused run has written:\n%s\nwas\n%s\n%s", now, was, r)
	}
}

// bomb is a YAML document whose aliases stand for 10^9 items.
func bomb() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for name := 'b'; name <= 'i'; name++ {
		former := "*" + string(name-1)
		text += string(name) + ": &" + string(name) + " [" + strings.Repeat(former+",", 9) + former + "]\n"
	}
	return text + "kind: DiffResult\n"
}

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Edge cases 22 and 23: each fault is reported in one line with its file and line.
func TestBadInput(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"duplicate key": {
			text: "# my app\n" + configMap("a") + "data:\n  image: x\n  tag: y\n  image: z\n",
			want: []string{`app.yaml:9: duplicate key "image" (first at line 7)`},
		},
		"duplicate keys, in two documents of three": {
			text: configMap("a") + "kind: Secret\n---\n" + configMap("b") + "---\n" + configMap("c") + "  labels: {x: a, x: b}\n  name: d\n",
			want: []string{
				`app.yaml:5: duplicate key "kind" (first at line 2)`,
				`app.yaml:16: duplicate key "x" (first at line 16)`,
				`app.yaml:17: duplicate key "name" (first at line 15)`,
			},
		},
		"a line with --- is missing": {
			text: configMap("a") + configMap("b"),
			want: []string{"app.yaml:5: one document contains two objects", "  put a line with only --- before this line"},
		},
		"--- at the end of a line": {
			text: configMap("a") + "data:\n  a: b---\n" + configMap("b"),
			want: []string{"app.yaml:7: one document contains two objects", "  put a line with only --- before this line"},
		},
		"--- at the beginning of a line": {
			text: configMap("a") + "---" + configMap("b"),
			want: []string{"app.yaml:5: one document contains two objects", "  put a line with only --- before this line"},
		},
		"keys that YAML 1.1 reads as booleans": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  No: {n: a}\n  'y': a\n  \"off\": {false: a, true: b}\n  mode: a\n  on: a\n  z: {Yes: a}\n",
			want: []string{
				`app.yaml:5: the key No would be stored as "false"`, "  quote it: unquoted, No is false in YAML 1.1",
				`app.yaml:5: the key n would be stored as "false"`, "  quote it: unquoted, n is false in YAML 1.1",
				`app.yaml:9: the key on would be stored as "true"`, "  quote it: unquoted, on is true in YAML 1.1",
				`app.yaml:10: the key Yes would be stored as "true"`, "  quote it: unquoted, Yes is true in YAML 1.1",
			},
		},
		"two keys that are the same key in YAML 1.1": {
			text: configMap("a") + "data:\n  yes: a\n  true: b\n",
			want: []string{`app.yaml:7: duplicate key "true" (first at line 6)`, "  quote both: unquoted, yes and true are the key true in YAML 1.1"},
		},
		"duplicate key that is also merged": {
			text: configMap("a") + "x: &x {a: b}\ndata:\n  <<: *x\n  a: c\n  b: d\n  b: e\n",
			want: []string{`app.yaml:10: duplicate key "b" (first at line 9)`},
		},
		"duplicate key in two spellings": {
			text: configMap("a") + "data:\n  1: a\n  \"1\": b\n",
			want: []string{`app.yaml:5: .data has the key "1" twice, spelled differently`},
		},
		"duplicate key in JSON": {
			text: `{"apiVersion": "v1",` + "\n" + `"kind": "ConfigMap", "metadata": {"name": "a"},` + "\n" + `"kind": "Secret"}`,
			want: []string{`app.yaml:3: duplicate key "kind" (first at line 2)`},
		},
		"tab": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a\n",
			want: []string{
				"app.yaml:4: not YAML: found character that cannot start any token",
				"  the line is indented with a tab; YAML allows only spaces",
			},
		},
		"indentation": {
			text: configMap("a") + "---\n" + configMap("b") + " labels: {}\n",
			want: []string{"app.yaml:10: not YAML: did not find expected key"},
		},
		"quote": {
			text: configMap("a") + "data:\n  a: \"b\n",
			want: []string{"app.yaml:6: not YAML: found unexpected end of stream"},
		},
		"quote, long before the end": {
			text: "# \"a\n#  b\"\napiVersion: v1\nkind: \"Config\n  Map\"\nmetadata: {name: \"a}\ndata: {a: b}\n",
			want: []string{"app.yaml:6: not YAML: found unexpected end of stream"},
		},
		"a colon is missing": {
			text: "apiVersion: v1\nkind ConfigMap\n\nmetadata: {name: a}\n",
			want: []string{"app.yaml:2: not YAML: could not find expected ':'"},
		},
		"first line": {
			text: "apiVersion: v1: v2\n",
			want: []string{"app.yaml:1: not YAML: mapping values are not allowed in this context"},
		},
		"alias of a missing anchor": {
			text: configMap("a") + "data: *nope\n",
			want: []string{"app.yaml:5: not YAML: an alias (*) to an anchor that does not exist", "  quote text that begins with *"},
		},
		"broken JSON": {
			text: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}` + "\n\n" + `{"apiVersion": "v1",` + "\n" + `"kind": [}`,
			want: []string{"app.yaml:4: not JSON: invalid character '}' looking for beginning of value"},
		},
		"the end of the text is less indented, and would be lost": {
			text: "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\ndata:\n  a: b\n",
			want: []string{
				"app.yaml:5: text after the end of the object that begins at line 1",
				"  start all top-level lines of an object in the same column; separate objects with ---",
			},
		},
		"two objects in flow style, the second would be lost": {
			text: "{apiVersion: v1, kind: A, metadata: {name: a}}\n{apiVersion: v1, kind: A, metadata: {name: b}}\n",
			want: []string{
				"app.yaml:2: text after the end of the object that begins at line 1",
				"  start all top-level lines of an object in the same column; separate objects with ---",
			},
		},
		"binary": {
			text: configMap("a") + "data:\n  ok: fine\n  a.bin: !!binary /w==\n",
			want: []string{`app.yaml:7: .data["a.bin"] is not text`, "  write it as base64 without the tag !!binary, in the data of a Secret or the binaryData of a ConfigMap"},
		},
		"not a number": {
			text: configMap("a") + "spec:\n- x\n- ratio: .nan\n",
			want: []string{"app.yaml:7: .spec[1].ratio is not a number that JSON can represent", "  quote it if it is text"},
		},
		"empty key": {
			text: configMap("a") + "data:\n  ~: a\n",
			want: []string{"app.yaml:5: .data has an empty key, or one that is not text", "  quote the key"},
		},
		"a mapping as a key; its values may be secret": {
			text: configMap("a") + "data:\n  ? {password: hunter2}\n  : b\n",
			want: []string{"app.yaml:6: a mapping or a list as a key", "  quote values that begin with { or ["},
		},
		"not UTF-8": {
			text: configMap("a") + "data:\n  a: \"b\xff\"\n",
			want: []string{"app.yaml:6: not UTF-8 text"},
		},
		"no apiVersion": {
			text: "kind: ConfigMap\nmetadata:\n  name: a\n",
			want: []string{"app.yaml:1: configmap/a: .apiVersion is missing"},
		},
		"no kind": {
			text: "apiVersion: v1\nmetadata:\n  name: a\n",
			want: []string{"app.yaml:1: .kind is missing"},
		},
		"no metadata": {
			text: "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
			want: []string{"app.yaml:1: ConfigMap: .metadata is missing"},
		},
		"fields of other types": {
			text: "apiVersion: 1\nkind: [a]\nmetadata: b\n",
			want: []string{
				"app.yaml:1: .apiVersion is a number, not text", "  quote it",
				"app.yaml:2: .kind is a list, not text", "app.yaml:3: .metadata is text, not a mapping",
			},
		},
		"apiVersion with too many parts": {
			text: "apiVersion: a/b/c\nkind: K\nmetadata: {name: a}\n",
			want: []string{`app.yaml:1: k/a: .apiVersion "a/b/c" is not GROUP/VERSION`},
		},
		"edge case 23: no name": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {}\n",
			want: []string{"app.yaml:3: ConfigMap: .metadata.name is missing"},
		},
		"edge case 23: generateName": {
			text: "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\n",
			want: []string{
				"app.yaml:4: Job: generateName without a name: apply needs a name to identify the object",
				"  set metadata.name, or create a new object each time with kubectl create",
			},
		},
		"a name that YAML reads as another type": {
			text: configMap("no") + "  namespace: 007\n",
			want: []string{
				"app.yaml:4: ConfigMap: .metadata.name is true or false, not text", "  quote it: unquoted, no is false in YAML 1.1",
				"app.yaml:5: ConfigMap: .metadata.namespace is a number, not text", "  quote it",
			},
		},
		"names that would change the path of a request": {
			text: configMap("..") + "---\n" + configMap("a/../../b") + "  namespace: a%2fb\n---\n" + configMap(".") + "---\n" + configMap("system:ok..fine"),
			want: []string{
				`app.yaml:4: configmap/..: .metadata.name ".." may not be '..'`,
				`app.yaml:9: configmap/a/../../b -n a%2fb: .metadata.name "a/../../b" may not contain '/'`,
				`app.yaml:10: configmap/a/../../b -n a%2fb: .metadata.namespace "a%2fb" may not contain '%'`,
				`app.yaml:15: configmap/.: .metadata.name "." may not be '.'`,
			},
		},
		"labels and annotations": {
			text: configMap("a") + "  labels:\n    version: 1.0\n    'on': \"x\"\n  annotations:\n  - a\n",
			want: []string{
				"app.yaml:6: configmap/a: .metadata.labels.version is a number, not text", "  quote it",
				"app.yaml:8: configmap/a: .metadata.annotations is a list, not a mapping",
			},
		},
		"items that are not a list": {
			text: "apiVersion: v1\nkind: List\nitems: {}\n---\napiVersion: v1\nkind: ConfigMapList\nmetadata: {}\nitems: none\n",
			want: []string{
				"app.yaml:3: .items of a List is a mapping, not a list",
				"app.yaml:8: .items of a ConfigMapList is text, not a list",
			},
		},
		"UTF-32":                        {text: "a\x00\x00\x00:\x00\x00\x00", want: []string{"app.yaml: UTF-32 text is not supported", "  save it as UTF-8"}},
		"UTF-32 with a byte order mark": {text: "\xff\xfe\x00\x00a\x00\x00\x00", want: []string{"app.yaml: UTF-32 text is not supported", "  save it as UTF-8"}},
		"big-endian UTF-32 with a byte order mark": {text: "\x00\x00\xfe\xff\x00\x00\x00a", want: []string{"app.yaml: UTF-32 text is not supported", "  save it as UTF-8"}},
		"a zero byte elsewhere":                    {text: "ab\x00c", want: []string{"app.yaml:1: not YAML: control characters are not allowed"}},
		"items of a list": {
			text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n" +
				"- kind: Secret\n  metadata: {name: b}\n-\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: 1\n",
			want: []string{
				"app.yaml:7: secret/b: .items[1].apiVersion is missing",
				"app.yaml:9: an item of a list is null, not an object",
				"app.yaml:13: Secret: .items[3].metadata.name is a number, not text", "  quote it",
			},
		},
		"several objects, and one document that is not an object": {
			text: configMap("a") + "---\nreplicas: 1\n---\n" + configMap("b"),
			want: []string{"app.yaml:6: not a Kubernetes object but a document without apiVersion, kind, metadata"},
		},
		"nothing":       {text: "", want: []string{"no Kubernetes object in the input"}},
		"only comments": {text: "# a\n---\n# b\n---\nnull\n", want: []string{"no Kubernetes object in the input"}},
		"empty list":    {text: "apiVersion: v1\nkind: List\nitems: []\n", want: []string{"no Kubernetes object in the input"}},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"app.yaml": tt.text})
			_, err := Read(t.Context(), Options{Filenames: []string{"app.yaml"}})
			if diff := cmp.Diff(tt.want, lines(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// A value that cannot be decoded may be a password, so it is never quoted.
func TestValuesAreNotQuoted(t *testing.T) {
	for name, tt := range map[string]struct {
		value string
		line  int
	}{
		"alias":                {value: "*hunter2", line: 7},
		"alias of itself":      {value: "&hunter2 [*hunter2]"},
		"number by tag":        {value: "!!int hunter2", line: 7},
		"fraction by tag":      {value: "!!float hunter2", line: 7},
		"boolean by tag":       {value: "!!bool hunter2", line: 7},
		"date by tag":          {value: "!!timestamp hunter2", line: 7},
		"base64 by tag":        {value: "!!binary hunter2~", line: 7},
		"undefined tag handle": {value: "!hunter2!x y", line: 7},
		"tag that is broken":   {value: "!<hunter2", line: 7},
		"mapping as a key":     {value: "{? {hunter2: hunter2} : x}", line: 7},
		"list as a key":        {value: "{[hunter2]: x}", line: 7},
		"directive":            {value: "%hunter2", line: 7},
		"at":                   {value: "@hunter2", line: 7},
		"backtick":             {value: "`hunter2`", line: 7},
		"quote":                {value: "\"hunter2"},
		"escape":               {value: "\"hunter2\\q\"", line: 7},
		"colon":                {value: "hunter2: hunter2", line: 7},
		"bracket":              {value: "[hunter2"},
		"block":                {value: "|hunter2", line: 7},
		"alias in a merge":     {value: "{<<: hunter2}"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  ok: fine\n  b: fine\n  k: " + tt.value + "\n"
			for file, text := range map[string]string{
				"app.yaml": text,
				"app.json": "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {k: " + tt.value + "}}\n",
			} {
				write(t, map[string]string{file: text})
				_, err := Read(t.Context(), Options{Filenames: []string{file}})
				if err == nil {
					continue // It is readable.
				}
				if got := strings.Join(lines(err), "\n"); strings.Contains(got, "hunter2") {
					t.Errorf("%s: %s", file, got)
				}
				if want := fmt.Sprintf("app.yaml:%d: ", tt.line); file == "app.yaml" && tt.line > 0 && !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v, want it at line %d", err, tt.line)
				}
			}
		})
	}
	write(t, map[string]string{"app.json": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": 20071e999}}`})
	if _, err := Read(t.Context(), Options{Filenames: []string{"app.json"}}); err == nil || strings.Contains(err.Error(), "20071") {
		t.Errorf("a number out of range is accepted or quoted: %v", err)
	}
}

// A file that is not for the API server is reported in one line, and can be skipped.
func TestNonObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		text, reason string
	}{
		"values.yaml":                {"replicas: 1\n---\nimage: x\n", "a document without apiVersion, kind, metadata"},
		"Chart.yaml":                 {"apiVersion: v2\nname: chart\nversion: 1.0.0\n", "a document without kind, metadata"},
		"dashboard.json":             {`{"title": "x", "panels": [{"id": 1}]}`, "a document without apiVersion, kind, metadata"},
		"kustomization.yaml":         {"resources:\n- a.yaml\n", "a kustomization, which -k reads"},
		"kustomization-of-kind.yaml": {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "a kustomization, which -k reads"},
		"component.yaml":             {"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nmetadata: {name: a}\n", "a kustomization, which -k reads"},
		"template.yaml":              {"{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\n{{- end }}\n", "a template ({{ … }})"},
		"template-in-value.yaml":     {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n", "a template ({{ … }})"},
		"page.yaml":                  {"<!DOCTYPE html>\n<html>\n<a href=\"b: c\">: d</a></html>\n", "HTML or XML"},
		"text.yaml":                  {"just words\n", "text"},
		"list.yaml":                  {"- a\n- b\n", "a list"},
		"number.json":                {"1", "a number"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"dir/" + name: tt.text, "dir/object.yaml": configMap("a")})
			_, err := Read(t.Context(), Options{Filenames: []string{"dir"}})
			want := []string{"dir/" + name + ":1: not a Kubernetes object but " + tt.reason, "  --skip-non-objects skips such files"}
			if diff := cmp.Diff(want, lines(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			res, err := Read(t.Context(), Options{Filenames: []string{"dir"}, SkipNonObjects: true})
			if err != nil || len(res.Objects) != 1 || len(res.Skipped) != 1 {
				t.Fatalf("%v, %+v", err, res)
			}
			if s := res.Skipped[0]; s.Source.File != "dir/"+name || s.Reason != tt.reason {
				t.Errorf("skipped %+v", s)
			}
		})
	}
}

func TestBrokenObjectsAreNotSkipped(t *testing.T) {
	for name, text := range map[string]string{
		"syntax":                 configMap("a") + " b: c\n",
		"no name":                "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
		"no kind":                "apiVersion: v1\nmetadata: {name: a}\n",
		"no apiVersion":          "kind: ConfigMap\nmetadata: {name: a}\n",
		"no metadata":            "apiVersion: v1\nkind: ConfigMap\n",
		"next to a valid object": configMap("a") + "---\nreplicas: 1\n",
		"list":                   "apiVersion: v1\nkind: List\nitems:\n- 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"dir/bad.yaml": text, "dir/good.yaml": configMap("a")})
			res, err := Read(t.Context(), Options{Filenames: []string{"dir"}, SkipNonObjects: true})
			if err == nil || len(res.Skipped) > 0 {
				t.Errorf("error %v, skipped %v", err, res.Skipped)
			}
		})
	}
}

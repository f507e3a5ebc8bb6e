package manifest

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// Edge case 22: documents and lists in all forms. Each object has its line.
func TestObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"several documents": {
			"# head\n\n" + configMap("a") + "---\n# about b\n" + configMap("b") + "--- # c\n\n" + configMap("c"),
			[]string{"in:3 ConfigMap/a", "in:9 ConfigMap/b", "in:15 ConfigMap/c"},
		},
		"empty documents":        {"---\n---\n# nothing\n---\nnull\n---\n" + configMap("a") + "---\n...\n---\n", []string{"in:7 ConfigMap/a"}},
		"end marker":             {configMap("a") + "...\n" + configMap("b") + "...\n# end\n", []string{"in:1 ConfigMap/a", "in:6 ConfigMap/b"}},
		"content after the mark": {"--- {apiVersion: v1, kind: K, metadata: {name: a}}\n--- !!map\n" + configMap("b"), []string{"in:1 K/a", "in:2 ConfigMap/b"}},
		"directives":             {"%YAML 1.1\n# x\n---\n" + configMap("a") + "...\n%TAG !e! tag:e.com,2000:\n---\n" + configMap("b"), []string{"in:1 ConfigMap/a", "in:9 ConfigMap/b"}},
		"a marker in a text": {
			configMap("a") + "data:\n  x: |\n    ---\n    ...\n  z: ---\n---\n" + configMap("b"),
			[]string{"in:1 ConfigMap/a", "in:11 ConfigMap/b"},
		},
		"CRLF":                  {strings.ReplaceAll(configMap("a")+"---\n"+configMap("b"), "\n", "\r\n"), []string{"in:1 ConfigMap/a", "in:6 ConfigMap/b"}},
		"no newline at the end": {strings.TrimSpace(configMap("a")), []string{"in:1 ConfigMap/a"}},
		"BOM":                   {"\ufeff" + configMap("a"), []string{"in:1 ConfigMap/a"}},
		"UTF-16, little-endian": {toUTF16("\ufeff"+configMap("ä"), 0), []string{"in:1 ConfigMap/ä"}},
		"UTF-16, big-endian":    {toUTF16("\ufeff"+configMap("ä"), 1), []string{"in:1 ConfigMap/ä"}},
		"UTF-16 without a mark": {toUTF16(configMap("ä"), 0), []string{"in:1 ConfigMap/ä"}},
		"UTF-16, big-endian, without a byte order mark": {toUTF16(configMap("ä"), 1), []string{"in:1 ConfigMap/ä"}},
		"JSON in UTF-16": {toUTF16(`{"apiVersion": "v1", "kind": "A", "metadata": {"name": "ä"}}`, 0), []string{"in:1 A/ä"}},
		"JSON, several in a row": {
			"\n{\"apiVersion\": \"v1\",\n\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}{\"apiVersion\": \"v1\", \"kind\": \"B\",\n \"metadata\": {\"name\": \"b\"}}\n\n" +
				"{\"apiVersion\": \"v1\", \"kind\": \"C\", \"metadata\": {\"name\": \"c\"}}\n# end\n",
			[]string{"in:2 A/a", "in:3 B/b", "in:6 C/c"},
		},
		"JSON and YAML": {"{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}\n---\n" + configMap("b"), []string{"in:1 A/a", "in:3 ConfigMap/b"}},
		"flow style":    {"{apiVersion: v1, kind: A, metadata: {name: a}}\n", []string{"in:1 A/a"}},
		"List": {
			"apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"\"\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n-\n  apiVersion: v1\n  kind: B\n  metadata: {name: b}\n",
			[]string{"in:6 A/a", "in:10 B/b"},
		},
		"items of a typed list default to its kind and version": {
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n  kind: Role\n---\n" +
				"apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: c}\n- {apiVersion: v1, kind: Secret, metadata: {name: d}}\n",
			[]string{"in:4 Role/a", "in:5 Role/b", "in:11 ConfigMap/c", "in:12 Secret/d"},
		},
		"a list in a list":                        {"kind: List\napiVersion: v1\nitems:\n- kind: ConfigMapList\n  apiVersion: v1\n  items:\n  - metadata: {name: a}\n", []string{"in:7 ConfigMap/a"}},
		"a list in JSON":                          {"{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}]}", []string{"in:2 A/a"}},
		"empty lists":                             {"kind: List\napiVersion: v1\nitems: []\n---\nkind: PodList\napiVersion: v1\nitems: null\n---\n" + configMap("a"), []string{"in:9 ConfigMap/a"}},
		"a kind that ends in List":                {"apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [{cidr: 10.0.0.0/8}]\n", []string{"in:1 AllowList/a"}},
		"a kind that ends in List, without items": {"apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\n", []string{"in:1 AllowList/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"in": tt.text})
			res, err := Read(t.Context(), Options{Filenames: []string{"in"}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, places(res)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			for _, m := range res.Objects {
				if m.Object.GetAPIVersion() == "" {
					t.Errorf("%s has no apiVersion", m.Source)
				}
			}
		})
	}
}

func toUTF16(text string, high int) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		pair := [2]byte{byte(u), byte(u >> 8)}
		b.WriteByte(pair[high])
		b.WriteByte(pair[1-high])
	}
	return b.String()
}

// Edge cases 16 and 22: scalars and maps are decoded as in kubectl.
func TestValues(t *testing.T) {
	text := configMap("a") + `spec:
  value: =
  true: [yes, on, y, "yes", Off]
  numbers: [1, 1.0, 1e3, 1.5, 0777, 0x1F, 1_000, 9223372036854775807, 9223372036854775808]
  texts: [1:30x, 1.2.3, 2001-01-01, "1", 0o8]
  absent: null
  nothing: {}
  base: &base {cpu: 1, memory: 2}
  merged: {<<: *base, cpu: 3}
  shared: *base
`
	want := map[string]any{
		"value": "=",
		"true":  []any{true, true, true, "yes", false},
		"numbers": []any{
			int64(1), int64(1), int64(1000), 1.5, int64(511), int64(31), int64(1000),
			int64(9223372036854775807), float64(9223372036854775808),
		},
		"texts":   []any{"1:30x", "1.2.3", "2001-01-01", "1", "0o8"},
		"absent":  nil,
		"nothing": map[string]any{},
		"base":    map[string]any{"cpu": int64(1), "memory": int64(2)},
		"merged":  map[string]any{"cpu": int64(3), "memory": int64(2)},
		"shared":  map[string]any{"cpu": int64(1), "memory": int64(2)},
	}
	write(t, map[string]string{"in": text})
	res, err := Read(t.Context(), Options{Filenames: []string{"in"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, res.Objects[0].Object.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// Edge case 23: fields that a server set are removed with a warning.
func TestServerFields(t *testing.T) {
	const custom = "apiVersion: min.example/v1\nkind: Plain\nmetadata:\n  name: a\n"
	for name, tt := range map[string]struct {
		text    string
		want    map[string]any // without apiVersion, kind and name
		warning string
	}{
		"copied from a cluster": {
			text: configMap("a") + `  namespace: prod
  uid: 93674123-01f1-4a10-a829-ff0751cf13da
  resourceVersion: "7"
  generation: 1
  creationTimestamp: "2020-09-04T21:17:46Z"
  deletionTimestamp: "2020-09-04T21:17:46Z"
  deletionGracePeriodSeconds: 30
  selfLink: /x
  managedFields: [{manager: x}]
  ownerReferences: [{name: o}]
  finalizers: [f]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", mine: "1"}
status: {ready: true}
`,
			want: map[string]any{"metadata": map[string]any{
				"name": "a", "namespace": "prod", "annotations": map[string]any{"mine": "1"},
				"finalizers": []any{"f"},
			}},
			warning: "copied from a cluster; left out: metadata.uid, metadata.resourceVersion, metadata.generation, " +
				"metadata.creationTimestamp, metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds, metadata.selfLink, " +
				"metadata.managedFields, the last-applied annotation, status",
		},
		"the annotation alone": {
			text:    configMap("a") + "  annotations: {kubectl.kubernetes.io/last-applied-configuration: \"{}\"}\n",
			want:    map[string]any{"metadata": map[string]any{"name": "a"}},
			warning: "copied from a cluster; left out: the last-applied annotation",
		},
		"empty server fields that Go programs write": {
			text: configMap("a") + "  creationTimestamp: null\n  managedFields: []\nstatus: {}\n",
			want: map[string]any{"metadata": map[string]any{"name": "a"}},
		},
		"a status that the author wrote": {
			text: configMap("a") + "status: {ready: true}\n",
			want: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{"ready": true}},
		},
		"null as a status of a custom kind": {
			text: custom + "status: null\n",
			want: map[string]any{"metadata": map[string]any{"name": "a"}},
		},
		"an empty status of a custom kind, where it may be a field like any other": {
			text: custom + "status: {}\n",
			want: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{}},
		},
		"an empty status of a copied custom object": {
			text:    custom + "  uid: x\nstatus: {}\n",
			want:    map[string]any{"metadata": map[string]any{"name": "a"}},
			warning: "copied from a cluster; left out: metadata.uid",
		},
		"an item of a list": {
			text:    "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, uid: x}\n",
			want:    map[string]any{"metadata": map[string]any{"name": "a"}},
			warning: "copied from a cluster; left out: metadata.uid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"in": tt.text})
			res, err := Read(t.Context(), Options{Filenames: []string{"in"}})
			if err != nil {
				t.Fatal(err)
			}
			tt.want["apiVersion"], tt.want["kind"] = "v1", "ConfigMap"
			if strings.HasPrefix(tt.text, custom) {
				tt.want["apiVersion"], tt.want["kind"] = "min.example/v1", "Plain"
			}
			if diff := cmp.Diff(tt.want, res.Objects[0].Object.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			var want []Warning
			if tt.warning != "" {
				want = []Warning{{Ref: res.Warnings[0].Ref, Source: res.Objects[0].Source, Text: tt.warning}}
			}
			if diff := cmp.Diff(want, res.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// Strings in a Secret are decoded as in kubectl. Binary data with the tag !!binary is refused,
// because kubectl would corrupt it. The error names the place.
func TestSecretStrings(t *testing.T) {
	for value, want := range map[string]string{
		`"\xff"`: "\u00ff", `"\u00e9"`: "\u00e9", `"\U0001F600"`: "\U0001F600", "!!binary aGk=": "hi",
		`"\0"`: "\x00", "!!binary w78=": "\u00ff", "!!str 1": "1", "\u00ff": "\u00ff", "!!binary /w==": "",
	} {
		write(t, map[string]string{"in": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  k: " + value + "\n"})
		res, err := Read(t.Context(), Options{Filenames: []string{"in"}})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "in:5: .stringData.k is not text") {
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if got := res.Objects[0].Object.Object["stringData"].(map[string]any)["k"]; got != want {
			t.Errorf("%s is %q, want %q", value, got, want)
		}
	}
}

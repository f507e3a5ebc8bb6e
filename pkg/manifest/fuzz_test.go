package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// samples returns texts that use every rule of the reader.
func samples() []string {
	return []string{
		"", "\n# only\n\n# comments\n", "---\n---\n...\n", "null", "~", "- a\n- b\n", "text", "<html></html>",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: =\n  y: yes\n  n: ~\n",
		"%YAML 1.1\n---\na: 1\n", "%TAG !e! tag:example.com,2000:\n---\na: !e!x b\n",
		"a: &x {i: 1}\nb: {<<: *x, i: 2}\nc:\n  i: 2\n  <<: *x\n", "a: &x {i: 1}\nb: [*x, *x]\n", "a: &x [*x]\n",
		"a: 1\na: 2\n", "1: a\n\"1\": b\n", "yes: a\non: b\n", "? {a: b}\n: c\n", "? [a]\n: c\n", "~: a\n", "{{ .x }}: b\n",
		"1.5: a\n.inf: b\n.nan: c\n-.inf: d\n0x10: e\n", "a: .nan\n", "a: .inf\n", "a: !!binary /w==\n", "a: !!binary aGk=\n", "!!binary /w==: a\n",
		"a: 0777\nb: 0o7\nc: 1_000\nd: 1:30\ne: 0x1F\nf: 1e3\ng: +1\nh: 18446744073709551615\ni: 99999999999999999999\nj: -0.0\nk: 1.0\no: 20000000000000007.0\nl: 9223372036854775807\nm: 9223372036854775808.0\nn: 0b11\n",
		"a: 2001-01-01\nb: 2001-01-01T00:00:00Z\nc: !!timestamp 2001-01-01\nd: !!str 1\ne: !!int \"1\"\nf: !!float 1\ng: !x y\n",
		"a: |\n  x\n  ---\n  y\nb: >-\n  folded\n  text\n", "  a: 1\nb: 2\n", "{a: b}\n{c: d}\n", "a: 1\r\nb: 2\r\n---\r\nc: 3\r\n",
		"\xef\xbb\xbfa: 1\n", "\xff\xfea\x00:\x00 \x001\x00", "\xfe\xff\x00a\x00:\x00 \x001", "\xff\xfea", "a: \xff\n", "a: \x01\n",
		"a:\n\tb: 1\n", "a: \"b\n", "a: [b\n", "a: *nope\n", "a: b: c\n", "0:\r \r00\r\r", "a: b: c # {{", "\t", "-", "--- a\n--- b\n", "--- |\n x\n",
		`{"a":1}{"b":2}` + "\n" + `{"c":[1,2.5,1e400,-0,9223372036854775808]}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":1`, `{"a":1,}`, `{"a":"\ud83d\ude00\/"}`, `{a: b}`, `[{"a":1}]`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- null\n- {}\n- 1\n",
		"apiVersion: v1\nkind: ConfigMapList\nmetadata: {resourceVersion: \"1\"}\nitems:\n- metadata: {name: a}\n- metadata: {name: 1}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - kind: X\n", "kind: List\nitems: null\n", "kind: AList\nitems: {a: b}\nmetadata: {}\n",
		"apiVersion: a/b/c\nkind: 1\nmetadata: []\n", "apiVersion: v1\nkind: K\nmetadata:\n  generateName: a-\n  labels: {a: 1}\n  annotations: [x]\n  namespace: 1\n",
		"apiVersion: v1\nkind: K\nmetadata:\n  name: a\n  uid: u\n  managedFields: []\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: x}\nstatus: {a: b}\n",
	}
}

// Read never panics, each error is one line, and objects are complete.
func FuzzRead(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, skip bool) {
		res, err := Read(t.Context(), Options{Filenames: []string{"-"}, In: bytes.NewReader(text), SkipNonObjects: skip})
		if err == nil && len(res.Objects) == 0 {
			t.Error("no object, and no error")
		}
		for _, e := range flat(err) {
			if strings.ContainsAny(e.Error(), "\n\r") || e.Error() == "" {
				t.Errorf("error is empty or has several lines: %q", e)
			}
		}
		for _, m := range res.Objects {
			if m.Object.GetName() == "" || m.Object.GetKind() == "" || m.Object.GroupVersionKind().Version == "" {
				t.Errorf("an object without a name: %v", m.Object)
			}
			if lines := bytes.Count(text, []byte("\n")) + 1; m.Source.Line < 1 || m.Source.Line > lines && !bytes.ContainsAny(text, "\r\x85\u2028\u2029") {
				t.Errorf("line %d of %d", m.Source.Line, lines)
			}
			m.Object.DeepCopy() // panics on types that JSON does not have
		}
	})
}

// flat returns the errors in a joined error.
func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flat(e)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// kubectlReads decodes a document like kubectl.
func kubectlReads(text []byte) (any, error) {
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var value any
	err = kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &value)
	return value, err
}

// The values of an accepted object are those that kubectl decodes. Read refuses more objects than
// kubectl, because kubectl silently loses data.
func FuzzLikeKubectl(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		utf8, err := toUTF8("-", text)
		if err != nil {
			return
		}
		for _, d := range yamldoc.Split("-", utf8) {
			got, faults := d.Decode()
			if len(faults) > 0 {
				continue
			}
			want, err := kubectlReads(d.Text)
			if d.IsJSON() && json.Valid(d.Text) {
				err = kjson.UnmarshalCaseSensitivePreserveInts(d.Text, &want)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q\n we read     %#v\nkubectl reads %#v, %v", d.Text, got, want, err)
			}
		}
	})
}

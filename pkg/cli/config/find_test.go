package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a/k8sconnect.yaml": "yield: []", "a/m.yaml": "", "a/sub/m.yaml": "", "b/k8sconnect.yaml": "yield: [", "b/m.yaml": "",
		"object/k8sconnect.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "plain/m.yaml": "", "k8sconnect.yaml": "yield: []",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ files, kustomize, want, fault string }{
		{files: "a/m.yaml", want: "a/k8sconnect.yaml"},
		{files: "a", want: "a/k8sconnect.yaml"},
		{files: "a/", want: "a/k8sconnect.yaml"},
		{files: "a/*.yaml", want: "a/k8sconnect.yaml"},
		{files: "a a/m.yaml", want: "a/k8sconnect.yaml"},
		{files: "b/m.yaml", want: "b/k8sconnect.yaml"}, // A broken file is reported, not passed over.
		{kustomize: "a", want: "a/k8sconnect.yaml"},
		{kustomize: "https://example.com/a?ref=1"},
		{files: "a/sub"}, // Nothing is looked for above.
		{files: "plain/m.yaml"},
		{files: "object"},
		{files: "-"}, // Not the working folder: standard input has no place.
		{files: "https://example.com/a.yaml"},
		{files: "a/m.yaml - https://example.com/b.yaml", want: "a/k8sconnect.yaml"},
		{files: "m.yaml", want: "k8sconnect.yaml"},
		{files: "a b", fault: "a/k8sconnect.yaml and b/k8sconnect.yaml are both next to the input"},
		{files: "plain a", fault: "a/k8sconnect.yaml is next to part of the input, but not next to plain"},
		{files: "a plain/m.yaml", fault: "a/k8sconnect.yaml is next to part of the input, but not next to plain/m.yaml"},
	} {
		got, err := find(strings.Fields(tt.files), tt.kustomize)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if got != tt.want || fault != tt.fault {
			t.Errorf("-f %s -k %s: %q, %q; want %q, %q", tt.files, tt.kustomize, got, fault, tt.want, tt.fault)
		}
	}
}

// A rule can be added next to the input if the next run would find the file there.
func TestPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a/m.yaml", "b/m.yaml", "object/k8sconnect.yaml"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("apiVersion: v1\nkind: ConfigMap"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ files, kustomize, want string }{
		{files: "a", want: "a/k8sconnect.yaml"},
		{files: "a/m.yaml a", want: "a/k8sconnect.yaml"},
		{files: "a https://example.com/b.yaml", want: "a/k8sconnect.yaml"},
		{kustomize: "a", want: "a/k8sconnect.yaml"},
		{files: "a b"},
		{files: "object"},
		{files: "https://example.com/b.yaml"},
		{kustomize: "https://example.com/b"},
		{files: "-"},
		{files: "gone/m.yaml"},
	} {
		got := place(strings.Fields(tt.files), tt.kustomize)
		if got != tt.want {
			t.Errorf("-f %s -k %s: %q, want %q", tt.files, tt.kustomize, got, tt.want)
			continue
		}
		if got == "" {
			continue
		}
		if err := os.WriteFile(got, []byte("yield: [{manager: a}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := find(strings.Fields(tt.files), tt.kustomize); found != got || err != nil {
			t.Errorf("-f %s -k %s: the rule is written to %s, but the next run reads %q, %v", tt.files, tt.kustomize, got, found, err)
		}
		if err := os.Remove(got); err != nil {
			t.Fatal(err)
		}
	}
}

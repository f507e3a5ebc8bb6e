package noop

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestPointerFieldsOfCRDs(t *testing.T) {
	names, seen := map[string]bool{}, map[reflect.Type]bool{}
	var walk func(r reflect.Type)
	walk = func(r reflect.Type) {
		for r.Kind() == reflect.Pointer || r.Kind() == reflect.Slice || r.Kind() == reflect.Map {
			r = r.Elem()
		}
		if r.Kind() != reflect.Struct || seen[r] || !strings.HasSuffix(r.PkgPath(), "/apiextensions/v1") {
			return
		}
		seen[r] = true
		for f := range r.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && f.Type.Kind() == reflect.Pointer {
				names[name] = true
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec]())
	want := slices.Sorted(maps.Keys(names))
	if diff := cmp.Diff(want, strings.Fields(writtenOfDefinitions)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(want, " "))
	}
}

// Each listed name is a pointer field in Kubernetes' Go types, and each pointer field is listed.
func TestPointerFieldsOfKubernetes(t *testing.T) {
	pointers, plain := map[string]bool{}, map[string]bool{}
	seen := map[string]bool{}
	var walk func(parent string, r reflect.Type)
	walk = func(parent string, r reflect.Type) {
		for r.Kind() == reflect.Pointer || r.Kind() == reflect.Slice || r.Kind() == reflect.Map {
			r = r.Elem()
		}
		ours := strings.HasPrefix(r.PkgPath(), "k8s.io/api/") || strings.HasSuffix(r.PkgPath(), "/meta/v1")
		if r.Kind() != reflect.Struct || !ours || seen[parent+" "+r.String()] {
			return
		}
		seen[parent+" "+r.String()] = true
		for f := range r.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" { // embedded: its fields are the parent's
				walk(parent, f.Type)
				continue
			}
			if name == "status" || name == "-" || name == "metadata" && parent == "" {
				continue
			}
			pair := parent + "." + name
			switch {
			case f.Type.Kind() == reflect.Pointer:
				pointers[pair] = true
			default:
				plain[pair] = true
			}
			walk(name, f.Type)
		}
	}
	for gvk, r := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != "__internal" && !strings.HasSuffix(gvk.Kind, "List") && !strings.HasSuffix(gvk.Kind, "Options") {
			walk("", r)
		}
	}
	plainNames := map[string]bool{}
	for pair := range plain {
		plainNames[pair[strings.LastIndex(pair, ".")+1:]] = true
	}
	names := map[string]bool{}
	for pair := range pointers {
		if name := pair[strings.LastIndex(pair, ".")+1:]; plainNames[name] {
			names[pair] = true
		} else {
			names[name] = true
		}
	}
	want := slices.Sorted(maps.Keys(names))
	if diff := cmp.Diff(want, strings.Fields(writtenNames)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(want, " "))
	}
}

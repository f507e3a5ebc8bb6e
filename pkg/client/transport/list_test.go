package transport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var (
	pods   = object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true}
	things = object.Kind{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, Resource: "things"}
)

var gateways = object.Kind{
	GVK: schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"}, Resource: "gateways", Namespaced: true,
}

func read(body io.Reader, kind object.Kind) (items []string, page metav1.ListMeta, err error) {
	page, err = List(body, kind, func(item []byte) error {
		items = append(items, string(item))
		return nil
	})
	return items, page, err
}

func TestList(t *testing.T) {
	const podList, thing = `"kind":"PodList","apiVersion":"v1",`, `"apiVersion":"example.com/v1",`
	for name, tt := range map[string]struct {
		kind object.Kind
		text string
		want []string
		next string
		// bad is the expected error; empty if none is expected.
		bad string
	}{
		"empty":              {kind: pods, text: `{` + podList + `"metadata":{"resourceVersion":"1"},"items":[]}`},
		"null":               {kind: pods, text: `{` + podList + `"metadata":{"resourceVersion":"1"},"items":null}`},
		"metadata last":      {kind: pods, text: `{"items":[{"a":1},{"b":[2]}],` + podList + `"metadata":{"resourceVersion":"1","continue":"y"}}`, want: []string{`{"a":1}`, `{"b":[2]}`}, next: "y"},
		"unknown fields":     {kind: pods, text: `{"foo":{"items":[1]},` + podList + `"items":[{}],"metadata":{"resourceVersion":"1"}}`, want: []string{`{}`}},
		"only metadata":      {kind: pods, text: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[{}]}`, want: []string{`{}`}},
		"a custom list kind": {kind: things, text: `{"kind":"Stuff",` + thing + `"metadata":{"resourceVersion":"1"},"items":[{}]}`, want: []string{`{}`}},
		"a custom list kind in a group of Kubernetes' projects": {
			kind: gateways, text: `{"kind":"Portals","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[{}]}`, want: []string{`{}`},
		},
		"almost valid JSON": {
			kind: pods, text: `{"kind":"L",` + podList + `"metadata":{"resourceVersion":"1"},"items":[{"a":1,"a":2},{"b":"\ud800"},{"c":"` + "\xff" + `"}]}`,
			want: []string{`{"a":1,"a":2}`, `{"b":"\ud800"}`, `{"c":"` + "\xff" + `"}`},
		},
		"list of another kind":    {kind: pods, text: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}]}`, bad: "it is a ConfigMapList in v1, not a list of pods"},
		"list of another version": {kind: things, text: `{"kind":"ThingList","apiVersion":"example.com/v2","metadata":{"resourceVersion":"1"},"items":[{}]}`, bad: "not a list of things.example.com"},
		"one object":              {kind: things, text: `{"kind":"Thing",` + thing + `"metadata":{"resourceVersion":"1"}}`, bad: "not a list of things.example.com"},
		"a Status":                {kind: pods, text: `{"kind":"Status","apiVersion":"v1","message":"no"}`, bad: "it is a Status (no)"},
		"without kind":            {kind: pods, text: `{}`, bad: "it is an object without a kind"},
		"without version":         {kind: pods, text: `{` + podList + `"metadata":{},"items":[{}]}`, bad: "without a resourceVersion"},
		"items is a number":       {kind: pods, text: `{` + podList + `"items":7}`, bad: "it is not a JSON object"},
		"only null":               {kind: pods, text: `null`, bad: "it is an object without a kind"},
		"a string":                {kind: pods, text: `"items"`, bad: "it is an object without a kind"},
		"a broken item":           {kind: pods, text: `{"items":[{"a":}]}`, bad: "it is not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, page, err := read(strings.NewReader(tt.text), tt.kind)
			if (err != nil) != (tt.bad != "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Fatalf("error %v, want %q", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || page.Continue != tt.next {
				t.Errorf("continue %q; items %s", page.Continue, diff)
			}
		})
	}
}

// If an answer is truncated at any place, the error is that of a broken connection, and see was not
// called for any item.
func TestListCutShort(t *testing.T) {
	const whole = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1","remainingItemCount":3},"items":[{"a":"ü"},null,{"b":[1,true]}],"x":{}}`
	reset := errors.New("connection reset")
	for n := range len(whole) {
		if items, _, err := read(strings.NewReader(whole[:n]), pods); !errors.Is(err, io.ErrUnexpectedEOF) || len(items) > 0 {
			t.Errorf("%s: error %v, items %s", whole[:n], err, items)
		}
		if items, _, err := read(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(reset)), pods); !errors.Is(err, reset) || len(items) > 0 {
			t.Errorf("%s: error %v, items %s", whole[:n], err, items)
		}
	}
}

func TestVisitorErrorEndsList(t *testing.T) {
	stop := errors.New("stop")
	_, err := List(strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{},{}]}`), pods, func([]byte) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestKeyOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata":{"name":"a","namespace":"n","x":`:                                     "n/a", // it reads no further
		`{"metadata":{"namespace":"n","name":"a"}}`:                                        "n/a",
		`{"metadata":{"name":"a"},"spec":`:                                                 "/a",
		`{"metadata":{"namespace":"n"}}`:                                                   "",
		`{"spec":{"metadata":{"name":"b"}},"metadata":{"labels":{"name":"c"},"name":"a"}}`: "/a",
		`{"metadata":{"name":7}}`:                                                          "",
		`{"metadata":{"name":""}}`:                                                         "",
		`{"metadata":[]}`:                                                                  "",
		`{"metadata":{}}`:                                                                  "",
		`{}`:                                                                               "",
		`null`:                                                                             "",
		`{"metadata":{"na`:                                                                 "",
	} {
		got, err := KeyOf([]byte(text))
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func FuzzList(f *testing.F) {
	f.Add(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b":[2]}]}`)
	f.Add(`{"items":null}`)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = List(strings.NewReader(text), pods, func(item []byte) error {
			_, err := KeyOf(item)
			return err
		})
	})
}

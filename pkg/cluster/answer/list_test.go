package answer

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func anyList(list) error { return nil }

func TestReadList(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
		next string
		// bad is what the error says; none if empty.
		bad string
	}{
		"empty":          {text: `{"kind":"L","apiVersion":"v1","metadata":{},"items":[]}`},
		"null":           {text: `{"items":null}`},
		"no items":       {text: `{}`},
		"items":          {text: `{"metadata":{"continue":"x"},"items":[{"a":1},{"b":[2]}]}`, want: []string{`{"a":1}`, `{"b":[2]}`}, next: "x"},
		"metadata last":  {text: `{"items":[{}],"metadata":{"continue":"y"}}`, want: []string{`{}`}, next: "y"},
		"unknown fields": {text: `{"foo":{"items":[1]},"items":[{}],"bar":7}`, want: []string{`{}`}},
		"items a number": {text: `{"items":7}`, bad: "the items of a list are a number, not an array"},
		"null itself":    {text: `null`, bad: "it is null, not a list"},
		"an array":       {text: `[]`, bad: "it is an array, not a list"},
		"a string":       {text: `"items"`, bad: "it is a string, not a list"},
		"broken item":    {text: `{"items":[{"a":}]}`, bad: "it cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			meta, err := readList(strings.NewReader(tt.text), anyList, func(item []byte) error {
				got = append(got, string(item))
				return nil
			})
			if (err != nil) != (tt.bad != "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Fatalf("error %v, want %q", err, tt.bad)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || meta.Continue != tt.next {
				t.Errorf("continue %q; items %s", meta.Continue, diff)
			}
		})
	}
}

// Wherever an answer ends too early, that is an error of the connection.
func TestReadListCutShort(t *testing.T) {
	const whole = `{"kind":"L","metadata":{"continue":"x","remainingItemCount":3},"items":[{"a":"ü"},null,{"b":[1,true]}],"x":{}}`
	for n := range len(whole) {
		_, err := readList(strings.NewReader(whole[:n]), anyList, func([]byte) error { return nil })
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", whole[:n], err)
		}
	}
}

func TestReadListEndsWithTheVisitor(t *testing.T) {
	stop := errors.New("stop")
	_, err := readList(strings.NewReader(`{"items":[{},{}]}`), anyList, func([]byte) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestNameOf(t *testing.T) {
	tests := map[string]struct {
		item, want string
		// bad is what the error says; none if empty.
		bad string
	}{
		"first":               {item: `{"metadata":{"name":"a","labels":{"name":"b"}}}`, want: "a"},
		"after others":        {item: `{"data":{"metadata":{"name":"x"}},"metadata":{"labels":{"name":"b"},"name":"a"}}`, want: "a"},
		"with escapes":        {item: `{"metadata":{"name":"\u0061"}}`, want: "a"},
		"none":                {item: `{"metadata":{}}`, bad: "no name"},
		"no metadata":         {item: `{"name":"a"}`, bad: "no metadata"},
		"null":                {item: `null`, bad: "an item of a list has null where its metadata should be"},
		"metadata is a list":  {item: `{"metadata":[]}`, bad: "an item of a list has an array where its name should be"},
		"name is a number":    {item: `{"metadata":{"name":7}}`, bad: "the name of an item of a list is a number"},
		"ends before its end": {item: `{"metadata":{"na`, bad: "unexpected EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := NameOf([]byte(tt.item))
			if got != tt.want || (err != nil) != (tt.bad != "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%q, error %v, want %q and %q", got, err, tt.want, tt.bad)
			}
		})
	}
}

func FuzzReadList(f *testing.F) {
	f.Add(`{"metadata":{"continue":"x"},"items":[{"a":1},{"b":[2]}]}`)
	f.Add(`{"items":null}`)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = readList(strings.NewReader(text), anyList, func(item []byte) error {
			_, err := NameOf(item)
			return err
		})
	})
}

// An error of the connection is passed on as it is, wherever it comes, and whatever has come
// with it; text that is no JSON is a wrong answer.
func TestReadListBrokenOff(t *testing.T) {
	const whole = `{"kind":"L","items":[{"a":"ü"},null,{"b":[1,true]}],"x":{}}`
	reset := errors.New("connection reset")
	for n := range len(whole) {
		for name, body := range map[string]io.Reader{
			"after": io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(reset)),
			"with":  iotest.DataErrReader(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(reset))),
		} {
			if _, err := readList(body, anyList, func([]byte) error { return nil }); err != reset { //nolint:errorlint // the error itself
				t.Errorf("%s %s: error %v", whole[:n], name, err)
			}
		}
		var wrong *WrongError
		if _, err := readList(strings.NewReader(whole[:n]+"<"), anyList, func([]byte) error { return nil }); !errors.As(err, &wrong) && whole[:n] != "" && !inText(whole[:n]) {
			t.Errorf("%s<: error %v", whole[:n], err)
		}
	}
}

// inText reports whether a text ends within quotes.
func inText(text string) bool { return strings.Count(text, `"`)%2 == 1 }

// What a server may write that is not quite JSON is read as it was before, and each item is
// whole when it is seen, however it arrives.
func TestReadListOverlooks(t *testing.T) {
	const items = `[{"a":1,"a":2},{"b":"\ud800"},{"c":"` + "\xff" + `"}]`
	var got []string
	_, err := readList(iotest.OneByteReader(strings.NewReader(`{"kind":"L","apiVersion":"v1","kind":"L","items":`+items+`}`)), anyList,
		func(item []byte) error { got = append(got, string(item)); return nil })
	if want := strings.Trim(items, "[]"); err != nil || strings.Join(got, ",") != want {
		t.Errorf("%q, %v", got, err)
	}
}

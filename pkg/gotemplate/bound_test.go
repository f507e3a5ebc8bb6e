package gotemplate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"text/template"
)

// What a function is said to make at most is no less than what it makes, whatever the
// format and the values.
func TestSizesAreBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	text := func() string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(pick("a", "<", `"`, "\x00", "\xff", "\u0080", "\u00e9", "\U0001f600", "\U0010ffff", "\n", "\u2028"))
		}
		return b.String()
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch kind := random.IntN(9); {
		case kind == 0:
			return nil
		case kind == 1:
			return random.IntN(2) == 0
		case kind == 2:
			return []int{0, -1, math.MinInt64, math.MaxInt64, 0x10ffff, 300, -300}[random.IntN(7)]
		case kind == 3:
			return []float64{0, -1.5, math.MaxFloat64, -math.SmallestNonzeroFloat64, math.Inf(-1)}[random.IntN(5)]
		case kind == 4:
			return complex(-math.MaxFloat64, math.SmallestNonzeroFloat64)
		case kind == 5:
			return uint8(random.IntN(256))
		case kind == 6 && depth > 0:
			list := make([]any, random.IntN(3))
			for i := range list {
				list[i] = value(depth - 1)
			}
			return list
		case kind == 7 && depth > 0:
			object := map[string]any{}
			for range random.IntN(3) {
				object[text()] = value(depth - 1)
			}
			return object
		default:
			return text()
		}
	}
	formats := 20_000
	if testing.Short() {
		formats = 4000
	}
	for range formats {
		var format strings.Builder
		for range random.IntN(4) {
			format.WriteString(pick("", "a", "%"))
			format.WriteString(pick("%", "%%", "%"+pick("", "+", "-", "#", " ", "0", "# ", "+#")+
				pick("", "7", "400", "*", "[1]*", "[2]", "[9]", "1000001")+
				pick("", ".", ".3", ".400", ".*", ".[1]*", ".[1]")+
				pick("", "[1]", "[3]", "[x]", "[")) + pick("v", "s", "q", "x", "X", "d", "b", "o", "O", "c", "U", "f", "g", "e", "t", "T", "p", "w", "z", "!", ""))
		}
		values := make([]any, random.IntN(4))
		for i := range values {
			values[i] = value(2)
		}
		for name, size := range map[string][2]int{
			"printf":   {len(fmt.Sprintf(format.String(), values...)), formattedSize(format.String(), values)},
			"print":    {len(fmt.Sprint(values...)), plainSize(values)},
			"println":  {len(fmt.Sprintln(values...)), plainSize(values)},
			"html":     {len(template.HTMLEscaper(values...)), escapedSize(values)},
			"js":       {len(template.JSEscaper(values...)), escapedSize(values)},
			"urlquery": {len(template.URLQueryEscaper(values...)), escapedSize(values)},
		} {
			if size[0] > size[1] {
				t.Fatalf("%s %q of %#v makes %d bytes, which is more than %d", name, format.String(), values, size[0], size[1])
			}
		}
	}
}

// What people write for large objects is within the bound.
func TestLargeObjectIsPrinted(t *testing.T) {
	const mebi = 1 << 20
	object := map[string]any{"data": map[string]any{"text": strings.Repeat("\"line\"\n", mebi/7)}}
	list := make([]any, 50_000)
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprintf("item-%d", i), "port": int64(i)}
	}
	object["list"] = list
	for _, text := range []string{
		`{{.}}`, `{{printf "%v" .}}`, `{{printf "%-20s %q" .kind .data.text}}`, `{{html .data.text}}`, `{{js .data.text}}`, `{{print . | len}}`,
		`{{range .list}}{{.name}}{{"\t"}}{{.port | printf "%05d"}}{{"\n"}}{{end}}`,
	} {
		if _, err := ours(text, object); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// hungry are templates that would make gigabytes. They are written for an object with a
// list of a thousand numbers.
var hungry = []string{
	`{{range 1000000000}}0123456789{{end}}`,
	`{{range 1000}}{{printf "%1000000d" 1}}{{end}}`,
	`{{printf "%1000000v" .list}}`,
	`{{printf "%.1000000d" .list}}`,
	`{{printf "%*d" 1000000 .list}}`,
	`{{printf "` + strings.Repeat(`%[1]1000000d`, 3000) + `" 1}}`,
	`{{$x := "0123456789"}}{{range 30}}{{$x = printf "%s%s" $x $x}}{{end}}`,
	`{{$x := "0123456789"}}{{range 30}}{{$x = printf "%[1]s%[1]s" $x}}{{end}}`,
	`{{$x := "0123456789"}}{{range 30}}{{$x = print $x $x}}{{end}}`,
	`{{$x := "0123456789"}}{{range 30}}{{$x = println $x $x}}{{end}}`,
	`{{$x := "<<<<"}}{{range 20}}{{$x = print (html $x) (js $x) "<"}}{{end}}`,
	`{{$x := "%%%%"}}{{range 30}}{{$x = urlquery $x $x}}{{end}}`,
	`{{$x := "aaaa"}}{{range 30}}{{$x = js $x $x}}{{end}}`,
	`{{define "a"}}{{$x := printf "%100000d" 1}}{{template "a" $x}}{{$x}}{{end}}{{template "a" 1}}`,
	`{{define "a"}}{{.}}{{.}}{{template "a" (print . .)}}{{end}}{{template "a" "a"}}`,
}

func feedHungry() error {
	list := make([]any, 1000)
	for i := range list {
		list[i] = int64(i)
	}
	for _, text := range hungry {
		parsed, err := Parse("output", text)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, map[string]any{"list": list}, nil); !errors.Is(err, ErrTooMuch) {
			return fmt.Errorf("%.60s made %d bytes, and ended with %w", text, out.Len(), err)
		}
		if out.Len() > MaxText {
			return fmt.Errorf("%.60s wrote %d bytes", text, out.Len())
		}
	}
	return nil
}

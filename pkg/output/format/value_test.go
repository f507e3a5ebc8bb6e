package format

import "testing"

// Edge case 16: null, absent and empty are three things.
func TestValue(t *testing.T) {
	tests := map[string]struct {
		in   any
		want string
	}{
		"text":                {"app:1.2", "app:1.2"},
		"empty":               {"", `""`},
		"null":                {nil, "null"},
		"the word null":       {"null", `"null"`},
		"number":              {int64(3), "3"},
		"float":               {0.5, "0.5"},
		"digits in a string":  {"3", `"3"`},
		"bool":                {true, "true"},
		"blanks around":       {" x ", `" x "`},
		"like a missing one":  {"(none)", `"(none)"`},
		"quotes":              {`"x"`, `"\"x\""`},
		"map":                 {map[string]any{"b": []any{int64(1), "<&>"}, "a": nil}, `{"a":null,"b":[1,"<&>"]}`},
		"lines":               {"one\ntwo\nthree\n", "one… (+2 lines)"},
		"a line and its end":  {"one\n", `"one\n"`},
		"escape sequence":     {"\x1b[1m", `"\x1b[1m"`},
		"escape in a map":     {map[string]any{"a": "\u009b"}, `{"a":"\u009b"}`},
		"escape in a line":    {"\x1b[1m\nx", `\x1b[1m… (+1 line)`},
		"what JSON can't say": {complex(1, 2), "(1+2i)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Value(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

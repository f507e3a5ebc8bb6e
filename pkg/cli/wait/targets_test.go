package wait

import "testing"

func TestGuessed(t *testing.T) {
	for typ, want := range map[string]string{
		"widget":                      "/, Kind=widget",
		"widgets.example.com":         "example.com/, Kind=widgets",
		"widgets.v1.example.com":      "example.com/v1, Kind=widgets",
		"widgets.v2beta1.example.com": "example.com/v2beta1, Kind=widgets",
	} {
		if got := guessed(typ).GVK.String(); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
	}
}

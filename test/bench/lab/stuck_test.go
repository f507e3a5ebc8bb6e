package lab

import "testing"

func TestOneRoot(t *testing.T) {
	const right = `{"code": "WebhookUnreachable", "count": 2, "blockedBy": {"kind": "ValidatingWebhookConfiguration", "name": "dead"}}`
	for name, tt := range map[string]struct {
		said string
		ok   bool
	}{
		"right, with a warning before it": {"warning: slow\n{\n\"objects\": [{}, {}], \"roots\": [" + right + "]}", true},
		"objects are missing":             {"{\n\"objects\": [{}], \"roots\": [" + right + "]}", false},
		"another root":                    {"{\n\"objects\": [{}, {}], \"roots\": [" + right + ", " + right + "]}", false},
		"another cause":                   {"{\n\"objects\": [{}, {}], \"roots\": [{\"code\": \"Unknown\", \"count\": 2}]}", false},
		"no document":                     {"error: no\n", false},
	} {
		if err := oneRoot(tt.said, 2); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

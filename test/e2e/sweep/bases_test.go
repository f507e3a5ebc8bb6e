package sweep_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// certificateRequest returns a request for a certificate, as its kind wants it.
func certificateRequest(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "a"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		text, err := yaml.ToJSON([]byte(part))
		if err != nil {
			t.Fatal(file, err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatal(file, err)
		}
		out = append(out, numbers(m).(map[string]any))
	}
	return out
}

// named returns the object with its own name for the placeholders.
func named(object map[string]any, id, namespace string, number int) map[string]any {
	replace := strings.NewReplacer("$ID", id, "$NS", namespace, "$NUMBER", strconv.Itoa(number%250+1))
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				v[key] = walk(v[key])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case string:
			return replace.Replace(v)
		}
		return v
	}
	return walk(clone(object)).(map[string]any)
}

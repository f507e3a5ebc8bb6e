package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// aSecret returns a Secret with the values below stringData.
func aSecret(name string, values ...string) map[string]any {
	data := map[string]any{}
	for i, value := range values {
		data["key"+strconv.Itoa(i)] = value
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": name, "namespace": "shop"}, "stringData": data,
	}
}

// quotings are the ways in which a server may quote a value.
func quotings(value string) map[string]string {
	inJSON := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	return map[string]string{
		"plain":                 "got " + value + " instead",
		"Go":                    fmt.Sprintf("got %q instead", value),
		"JSON":                  "got " + inJSON(value) + " instead",
		"JSON in JSON":          "got " + inJSON(inJSON(value)) + " instead",
		"JSON in Go":            fmt.Sprintf("body=%q", `{"data":`+inJSON(value)+`}`),
		"YAML":                  "got '" + strings.ReplaceAll(value, "'", "''") + "' instead",
		"base64":                "got " + encoded + " instead",
		"base64, bare":          "got " + strings.TrimRight(encoded, "=") + " instead",
		"at the end":            "got " + value,
		"base64, URL":           "got " + base64.URLEncoding.EncodeToString([]byte(value)),
		"base64, lines":         "got\n" + inLines(encoded, 76),
		"base64, PEM":           "got\n" + inLines(encoded, 64),
		"hexadecimal":           fmt.Sprintf("got %x", value),
		"JSON in ASCII":         "got " + strconv.QuoteToASCII(value),
		"URL, query":            "got ?p=" + url.QueryEscape(value),
		"URL, path":             "got /" + url.PathEscape(value),
		"glued":                 "xx" + value + "yy",
		"HTML, Go":              "got " + html.EscapeString(value),
		"HTML, Python":          "got " + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace(value),
		"HTML of JSON":          "got " + html.EscapeString(inJSON(value)),
		"XML":                   "got " + inXML(value),
		"bytes, Go":             fmt.Sprintf("got %v of it", []byte(value)),
		"bytes, Go syntax":      fmt.Sprintf("got %#v of it", []byte(value)),
		"bytes, with blanks":    fmt.Sprintf("got % x of it", value),
		"bytes, list":           "got " + strings.ReplaceAll(fmt.Sprintf("%d", []byte(value)), " ", ", "),
		"bytes, JSON":           "got " + strings.ReplaceAll(fmt.Sprintf("%d", []byte(value)), " ", ","),
		"bytes, Python":         "got b'" + inASCII(value, `\x%02x`, "'") + "' instead",
		"bytes, Python, quotes": "got b\"" + inASCII(value, `\x%02x`, "") + "\" instead",
		"bytes, C":              "got \"" + inASCII(value, `\%03o`, `"`) + "\" instead",
		"truncated by a server": "got " + value[:len(value)*3/4] + "…",
		"truncated at the end":  "got " + value[:len(value)*3/4],
		"truncated in a log":    "got " + encoded[:len(encoded)*3/4] + " [truncated 12 chars]",
	}
}

func inXML(value string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(value))
	return b.String()
}

// inASCII escapes all other bytes with the format, and the quotes with a backslash.
func inASCII(value, format, quotes string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		switch {
		case c == '\\' || strings.IndexByte(quotes, c) >= 0:
			b.WriteString("\\" + string(rune(c)))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, format, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func inLines(text string, width int) string {
	var b strings.Builder
	for ; len(text) > width; text = text[width:] {
		b.WriteString(text[:width] + "\n")
	}
	return b.String() + text + "\n"
}

// leak returns a part of a value that the text contains in any form; "" if there is none.
func leak(text, value string) string {
	const reporting = 8
	for _, form := range []string{
		value, base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)),
		fmt.Sprintf("%x", value), url.QueryEscape(value), url.PathEscape(value), strconv.QuoteToASCII(value),
		html.EscapeString(value), inXML(value), inASCII(value, `\x%02x`, ""), inASCII(value, `\%03o`, ""), fmt.Sprintf("%d", []byte(value)), fmt.Sprintf("% x", value),
	} {
		for at := 0; at+reporting <= len(form); at++ {
			if part := form[at : at+reporting]; strings.Contains(text, part) {
				return part
			}
		}
	}
	return ""
}

// Edge case 86: however a server quotes a value, no recognizable part of the value remains.
func TestVaultMasksEveryQuoting(t *testing.T) {
	for name, value := range map[string]string{
		"a password":         "correct-horse-battery",
		"odd":                `tr0ub"d\or & <3 'quoted' ü`,
		"many lines":         "first-line-of-it-all\nsecond-line-of-it-all\n\tthird-line-of-it-all\n",
		"long":               strings.Repeat("0123456789abcdefghij-", 200),
		"long, in one piece": strings.Repeat("q7", 257),
		"with blanks":        "  padded-value-of-it  ",
		"markup":             "CANARY p&ss/word+1",
		"umlaut":             "CANARY-ümlaut-pass",
	} {
		vault := redact.NewVault()
		vault.Learn(aSecret("db", value))
		for how, text := range quotings(value) {
			t.Run(name+"/"+how, func(t *testing.T) {
				got := vault.Text(text)
				if part := leak(got, strings.TrimSpace(value)); part != "" {
					t.Errorf("%q is left: %.300q", part, got)
				}
				u := &unstructured.Unstructured{Object: aSecret("db", value)}
				if part := leak(redact.Text(u, text), strings.TrimSpace(value)); part != "" && !strings.HasPrefix(how, "truncated") {
					t.Errorf("%q is left by Text: %.300q", part, redact.Text(u, text))
				}
				if !strings.Contains(got, redact.Mask) {
					t.Errorf("nothing is masked: %.300q", got)
				}
			})
		}
	}
}

// A part of a value is masked like the whole value, because a policy may quote only the line that
// it rejects.
func TestVaultMasksParts(t *testing.T) {
	vault := redact.NewVault()
	vault.Learn(aSecret("db",
		"postgres://app:pw-of-the-url%21@db:5432/x", "user=app\npassword=pw-of-a-line\n", "host=db password='pw of a dsn' port=5432",
		"token: pw-of-yaml\n", `{"a":{"b":"pw-of-json"}}`))
	for _, part := range []string{"pw-of-the-url%21", "pw-of-the-url!", "pw-of-a-line", "pw of a dsn", "pw-of-yaml", "pw-of-json"} {
		if got := vault.Text("value " + part + " is weak"); got != "value *** is weak" {
			t.Errorf("%s: %q", part, got)
		}
	}
}

// If one value contains another, nothing remains of either. Numbers are masked in every notation.
func TestTextOfNestedValues(t *testing.T) {
	for _, data := range []map[string]any{
		{"year": "2024", "pin": 20240117},
		{"year": "2024", "pin": int64(20240117)},
		{"year": "2024", "pin": 20240117.0},
		{"year": "8765", "pin": 9876543210.0},
		{"a": "abcdef", "b": "defghi"},
		{"a": "abcd", "b": "abcdefgh", "c": "gh"},
	} {
		u := &unstructured.Unstructured{Object: aSecret("pin")}
		u.Object["stringData"] = data
		for _, value := range data {
			forms := []string{fmt.Sprint(value)}
			if f, ok := value.(float64); ok {
				forms = append(forms, strconv.FormatFloat(f, 'f', -1, 64))
			}
			for _, form := range forms {
				if got, want := redact.Text(u, "got the number "+form+"."), "got the number ***."; got != want {
					t.Errorf("%v: %q became %q", data, form, got)
				}
			}
		}
	}
	u := &unstructured.Unstructured{Object: aSecret("a", "abcdef", "defghi")}
	if got := redact.Text(u, "xabcdefghix"); got != "x***x" {
		t.Errorf("overlapping values: %q", got)
	}
}

// Values of Secrets may equal parts of names, or words of our sentences. All references to objects,
// and all our sentences, stay whole nevertheless.
func TestVaultDoesNotMaskNames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		words := []string{"postgres", "longhorn", "secret", "crypto", "reader", "deployment", "production", "cluster", "v2beta1", "db-main"}
		return words[r.IntN(len(words))]
	}
	for range 3000 {
		ref := object.Ref{
			GVK:       schema.GroupVersionKind{Group: word() + "ql.example.io", Version: "v1", Kind: "Cluster"},
			Namespace: word(), Name: word() + "-" + word() + "-0",
		}
		file, manager := word()+"-"+word()+".yaml", word()
		names := []string{ref.GVK.Group, ref.Namespace, ref.Name, file, manager, "cluster"}
		var values []string
		for range 4 {
			name := names[r.IntN(len(names))]
			from := r.IntN(len(name))
			values = append(values, name[from:from+1+r.IntN(len(name)-from)], word(), "sha256", "unchanged")
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(ref.GVK)
		u.SetName(ref.Name)
		u.SetNamespace(ref.Namespace)
		vault := redact.NewVault()
		vault.File("sets/" + file)
		vault.Learn(u.Object)
		vault.Learn(aSecret("cluster", values...))
		vault.Deep(managedfields.Owner{Manager: manager}, nil)
		for _, text := range []string{
			"warning: " + ref.String() + " is unchanged in this cluster",
			"left out: sets/" + file + ":1: " + ref.Resource(),
			fmt.Sprintf("%s %q is forbidden", "clusters."+ref.GVK.Group, ref.Name),
			"name it by its digest (name@sha256:…)",
			"kubectl k8sconnect give web .data.k --to=" + manager,
		} {
			if got := vault.Text(text); got != text {
				t.Fatalf("values %q:\n%s became\n%s", values, text, got)
			}
			var b bytes.Buffer
			w := vault.Writer(&b)
			_, _ = w.Write([]byte(text))
			_ = w.Flush()
			if b.String() != text {
				t.Fatalf("values %q:\n%s was written as\n%s", values, text, b.String())
			}
		}
	}
	vault := redact.NewVault()
	vault.Learn(aSecret("app", "postgres"))
	if got, want := vault.Text(`Invalid value: "postgres", PASSWORD=postgres`), `Invalid value: "***", PASSWORD=***`; got != want {
		t.Errorf("a word in quotes: %q, want %q", got, want)
	}
}

func TestVaultLearnsValuesOfSecrets(t *testing.T) {
	const inner = "p4ss-of-the-registry"
	docker := `{"auths":{"example.com":{"password":"` + inner + `"}}}`
	secret := aSecret("db", "plain-value")
	secret["data"] = map[string]any{"encoded": base64.StdEncoding.EncodeToString([]byte("decoded-value")), "docker": docker}
	metadata := secret["metadata"].(map[string]any)
	metadata["annotations"] = map[string]any{
		"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"a":"value-of-old"}}`,
	}
	list := map[string]any{"apiVersion": "v1", "kind": "SecretList", "items": []any{
		map[string]any{"metadata": map[string]any{"name": "x"}, "data": map[string]any{"a": "of-a-typed-list"}},
	}}
	vault := redact.NewVault()
	vault.Learn(secret)
	vault.Learn(list)
	vault.Learn(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "of-a-configmap"}})
	for _, value := range []string{"plain-value", "decoded-value", "value-of-old", "of-a-typed-list", inner} {
		if got := vault.Text("a " + value + " b"); got != "a *** b" {
			t.Errorf("%s: %q", value, got)
		}
	}
	if got := vault.Text("of-a-configmap"); got != "of-a-configmap" {
		t.Errorf("a ConfigMap's value: %q", got)
	}
	var none *redact.Vault
	none.Learn(secret)
	none.File("x")
	if got := none.Text("plain-value"); got != "plain-value" {
		t.Errorf("no vault: %q", got)
	}
}

// In the last-applied annotation, only data and stringData are secret: a Secret that kubectl applied
// says no more about its labels and names than one that it created.
func TestVaultKeepsNamesInLastApplied(t *testing.T) {
	secret := aSecret("sh.helm.release.v1.prometheus.v1", "value-of-now")
	secret["metadata"].(map[string]any)["labels"] = map[string]any{"name": "prometheus-main", "owner": "helm"}
	for _, last := range []string{
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"sh.helm.release.v1.prometheus.v1","labels":{"name":"prometheus-main","team":"team-of-seven-1"},"annotations":{"note":"kept-for-17-days"}},"type":"helm.sh/release.v1","data":{"a":"` +
			base64.StdEncoding.EncodeToString([]byte("value-of-old")) + `"},"stringData":{"b":"text-of-old"}}`,
		`{"data":{"a":"value-of-old"},"stringData":{"b":"text-of-old"},"metadata":{"labels":{"team":"team-of-seven-1"}}}`,
	} {
		secret["metadata"].(map[string]any)["annotations"] = map[string]any{managedfields.LastAppliedAnnotation: last}
		vault := redact.NewVault()
		vault.Learn(secret)
		for _, word := range []string{"prometheus-main", "team-of-seven-1", "kept-for-17-days", "helm.sh/release.v1"} {
			if got := vault.Text("release shop/" + word); got != "release shop/"+word {
				t.Errorf("%s: %q", word, got)
			}
		}
		masked := vault.Text("got " + last + " instead")
		for _, value := range []string{"value-of-now", "value-of-old", "text-of-old"} {
			if got := vault.Text("a " + value + " b"); got != "a *** b" {
				t.Errorf("%s: %q", value, got)
			}
			if part := leak(masked, value); part != "" {
				t.Errorf("%q is left: %s", part, masked)
			}
		}
	}
	broken := aSecret("db")
	broken["metadata"].(map[string]any)["annotations"] = map[string]any{managedfields.LastAppliedAnnotation: `{"data":{"a":"value-cut-of`}
	vault := redact.NewVault()
	vault.Learn(broken)
	if got := vault.Text(`got {"data":{"a":"value-cut-of instead`); strings.Contains(got, "value-cut-of") {
		t.Errorf("an annotation that is not JSON: %q", got)
	}
}

// All other text stays unchanged. Short values are not masked because they occur everywhere, and
// names are printed anyway.
func TestVaultKeepsOtherText(t *testing.T) {
	vault := redact.NewVault()
	vault.Learn(aSecret("postgres-main", "", " ", "a", "true", "1", "admin", "secret7", "postgres-main", "shop", "key0", "metadata"))
	for _, text := range []string{
		`Secret "postgres-main" is invalid: data: true, 1, a`, "namespace shop", "admin is forbidden",
		"secret77 of mysecret7", "",
	} {
		if got := vault.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got, want := vault.Text("the secret7."), "the ***."; got != want {
		t.Errorf("a short value as a word: %q, want %q", got, want)
	}
	// These are keys and lines that also occur in our documents.
	vault.Learn(aSecret("config", "apiVersion: v1\nkind: Config\nnamespace: production\n", "production", "namespace"))
	var b bytes.Buffer
	const document = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: production\n"
	w := vault.Writer(&b)
	_, _ = w.Write([]byte(document))
	_ = w.Flush()
	if b.String() != document {
		t.Errorf("got %q", b.String())
	}
}

// A value is masked even if it is split between several writes. Everything else is unchanged.
func TestWriterOfSplitValues(t *testing.T) {
	const value, other = "correct-horse-battery", "correct-horse-other-one"
	vault := redact.NewVault()
	vault.Learn(aSecret("db", value, other))
	text := "corr correct-hor correct-horse-x " + value + other + "\nc " + value + " correct-horse-batter"
	want := "corr correct-hor correct-horse-x ******\nc *** ***"
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b bytes.Buffer
		w := vault.Writer(&b)
		for rest := text; rest != ""; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(30)))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestWriterWritesAtOnce(t *testing.T) {
	vault := redact.NewVault()
	var b bytes.Buffer
	w := vault.Writer(&b)
	_, _ = w.Write([]byte("before any Secret"))
	vault.Learn(aSecret("db", "King-of-all-horses"))
	for _, text := range []string{"Remove it? [y/N] ", "\r 3 of 7\x1b[K", "a line\n"} {
		b.Reset()
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil || b.String() != text {
			t.Errorf("%q: wrote %d, %v, %q", text, n, err, b.String())
		}
	}
	if w.Unwrap() != &b {
		t.Error("Unwrap() is not the wrapped writer")
	}
}

// A run may read ten thousand Secrets. So the memory for a Secret must not exceed a few times its
// size.
func TestVaultMemoryPerSecret(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(source.Uint32())
		}
		return string(b)
	}
	inBase64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, tt := range map[string]struct {
		values int
		value  func() string
		most   uint64 // bytes for each Secret
	}{
		"one text of 1 kB":         {1, func() string { return inBase64(random(768)) }, 12 << 10},
		"one binary value of 1 kB": {1, func() string { return random(1024) }, 18 << 10},
		"ten texts of 100 bytes":   {10, func() string { return inBase64(random(75)) }, 32 << 10},
	} {
		const secrets = 500
		vault := redact.NewVault()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range secrets {
			values := make([]string, tt.values)
			for k := range values {
				values[k] = tt.value()
			}
			vault.Learn(aSecret(fmt.Sprint("s", i), values...))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if each := (after.HeapAlloc - before.HeapAlloc) / secrets; each > tt.most {
			t.Errorf("%s: %d bytes for each Secret, at most %d", name, each, tt.most)
		}
		runtime.KeepAlive(vault)
	}
}

// BenchmarkVault measures adding 10,000 Secrets and masking a report.
func BenchmarkVault(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	secrets := make([]map[string]any, 10_000)
	for i := range secrets {
		secrets[i] = aSecret("s"+strconv.Itoa(i), fmt.Sprintf("%x-%x", r.Uint64(), r.Uint64()), strings.Repeat(fmt.Sprintf("%x", r.Uint64()), 64))
	}
	b.Run("learn", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			vault := redact.NewVault()
			for _, secret := range secrets {
				vault.Learn(secret)
			}
		}
	})
	vault := redact.NewVault()
	for _, secret := range secrets {
		vault.Learn(secret)
	}
	report := strings.Repeat("deployment.apps/web-123 -n shop  configured  nothing to see here\n", 1000)
	b.Run("mask", func(b *testing.B) {
		b.SetBytes(int64(len(report)))
		for b.Loop() {
			_ = vault.Text(report)
		}
	})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(report)))
		w := vault.Writer(&bytes.Buffer{})
		for b.Loop() {
			_, _ = w.Write([]byte(report))
		}
	})
}

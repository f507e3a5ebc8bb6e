package connection

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

const (
	secretsPath = "/api/v1/namespaces/shop/secrets/db"
	liveSecret  = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"db"},"data":{"pin":"MTIz","long":"dmVyeS1sb25nLXNlY3JldA=="}}`
	// quotingBoth quotes both values of the Secret, the short one as a word.
	quotingBoth = "pin 123 is no very-long-secret"
)

// statusBody returns the body of an API server's error.
func statusBody(code int, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":%d}`, message, code)
}

// Edge case 86: the server's messages about a Secret are masked when they arrive, using the values
// of the live Secret. If these values cannot be read, the message is withheld.
func TestAnswersAboutSecrets(t *testing.T) {
	const forbidden = `secrets "db" is forbidden: User "jane" cannot %s resource "secrets" in API group "" in the namespace "shop"`
	type answer struct {
		code int
		body string
	}
	tests := map[string]struct {
		method string
		// write is the answer to the request with the method, and read the answer to a GET that
		// follows.
		write, read answer
		warning     string
		want        string
	}{
		"masked":                            {http.MethodPatch, answer{422, statusBody(422, quotingBoth)}, answer{200, liveSecret}, "", "pin *** is no ***"},
		"answer to a deletion":              {http.MethodDelete, answer{403, statusBody(403, quotingBoth)}, answer{200, liveSecret}, "", "pin *** is no ***"},
		"answer that is not a Status":       {http.MethodPatch, answer{502, quotingBoth}, answer{200, liveSecret}, "", "pin *** is no ***"},
		"a warning":                         {http.MethodPatch, answer{200, liveSecret}, answer{200, liveSecret}, quotingBoth, "pin *** is no ***"},
		"Secret that does not exist":        {http.MethodPatch, answer{422, statusBody(422, "no such thing")}, answer{404, statusBody(404, "not found")}, "", "no such thing"},
		"no permission to read the Secret":  {http.MethodPatch, answer{422, statusBody(422, quotingBoth)}, answer{403, statusBody(403, fmt.Sprintf(forbidden, "get"))}, "", withheld},
		"no permission to write the Secret": {http.MethodPatch, answer{403, statusBody(403, fmt.Sprintf(forbidden, "patch"))}, answer{403, statusBody(403, fmt.Sprintf(forbidden, "get"))}, "", fmt.Sprintf(forbidden, "patch")},
		"reading the values fails":          {http.MethodPatch, answer{422, statusBody(422, quotingBoth)}, answer{500, statusBody(500, quotingBoth)}, "", withheld},
		"a read that failed":                {http.MethodGet, answer{500, statusBody(500, quotingBoth)}, answer{}, "", withheld},
		"a forbidden read":                  {http.MethodGet, answer{403, statusBody(403, fmt.Sprintf(forbidden, "get"))}, answer{}, "", fmt.Sprintf(forbidden, "get")},
		"a warning on a read":               {http.MethodGet, answer{200, liveSecret}, answer{}, "deprecated", withheld},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			first := true
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := tt.write
				if !first {
					a = tt.read
					if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "x" {
						t.Errorf("the Secret's values were read with %s %s", r.Method, r.URL)
					}
				} else if tt.warning != "" {
					w.Header().Add("Warning", fmt.Sprintf("299 - %q", tt.warning))
				}
				first = false
				w.WriteHeader(a.code)
				_, _ = io.WriteString(w, a.body)
			}))
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+secretsPath+"?dryRun=All", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "x")
			resp, err := (&maskingTransport{next: http.DefaultTransport, vault: redact.NewVault()}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.write.code {
				t.Errorf("status %d, %v", resp.StatusCode, err)
			}
			got := string(body)
			if tt.warning != "" {
				if got != liveSecret {
					t.Errorf("the object was changed: %s", got)
				}
				got = strings.Join(resp.Header.Values("Warning"), "\n")
			}
			if !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tt.want) || strings.Contains(got, "123") && tt.want != got {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The vault knows a value before the reader has the whole object.
func TestVaultLearnsValuesBeforeReader(t *testing.T) {
	const value = "very-long-secret"
	for name, tt := range map[string]struct{ path, body string }{
		"an object": {secretsPath, liveSecret},
		"a list":    {"/api/v1/secrets", `{"kind":"SecretList","apiVersion":"v1","items":[` + liveSecret + `]}`},
		"a watch":   {"/api/v1/namespaces/shop/secrets?watch=true", `{"type":"ADDED","object":` + liveSecret + "}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			more := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, tt.body)
				w.(http.Flusher).Flush()
				if name == "a watch" {
					<-more // It continues.
				}
			}))
			defer server.Close()
			defer close(more)
			vault := redact.NewVault()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&maskingTransport{next: http.DefaultTransport, vault: vault}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			var read string
			if name == "a watch" {
				read, err = bufio.NewReader(resp.Body).ReadString('\n')
			} else {
				var all []byte
				all, err = io.ReadAll(resp.Body)
				read = string(all)
			}
			if err != nil || read != tt.body {
				t.Fatalf("read %q, %v", read, err)
			}
			if got := vault.Text("a " + value); got != "a ***" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Edge case 86: paths of Secrets are recognised for any address of the server, for example a
// gateway's address with a path that itself contains /api/. The requests come from the client and
// not from this test.
func TestIsAboutSecrets(t *testing.T) {
	paths := map[string]bool{
		secretsPath: true, "/api/v1/secrets": true, "/api/v1/watch/secrets": true, "/api/v1/watch/namespaces/x/secrets": true,
		"/api/v1/namespaces/secrets": false, "/api/v1/namespaces/secrets/configmaps/a": false, "/apis/example.com/v1/secrets": false,
		"/api/v1/namespaces/shop/configmaps/secrets": false, "/api": false, "/openapi/v3/api/v1": false,
		"/apis/example.com/v1/namespaces/api/v1/secrets": false, "/api/v1/namespaces/api/services/secrets": false,
	}
	hosts := []string{"https://a", "a:6443", "https://a/", "https://a//"}
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"k8s", "clusters", "c-1", "api", "apis", "v1", "secrets", "namespaces", "watch", "configmaps", "", "a%2Fb", "."}
	for range 300 {
		host := "https://a"
		for range 1 + random.IntN(6) {
			host += "/" + parts[random.IntN(len(parts))]
		}
		hosts = append(hosts, host)
	}
	for _, host := range hosts {
		for path, want := range paths {
			config := &rest.Config{Host: host, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}
			base := transport.BasePath(config)
			asked := ""
			config.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.Path
				return nil, errors.New("no server answers")
			})
			client, err := rest.UnversionedRESTClientFor(config)
			if err != nil {
				t.Fatalf("%s: %v", host, err)
			}
			_ = client.Get().AbsPath(path).MaxRetries(0).Do(t.Context())
			if got := isAboutSecrets(base, asked); got != want || asked == "" {
				t.Fatalf("path %s at host %s, requested as %s: got %v", path, host, asked, got)
			}
		}
	}
	// After a redirect, the path of a request may have any prefix.
	for path, want := range map[string]bool{"/other/api/v1/secrets": true, "/api/api/v1/secrets/db": true, "/other/api/v1/pods": false} {
		if got := isAboutSecrets("/k8s", path); got != want {
			t.Errorf("redirected to %s: %v", path, got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLogWithoutSecrets(t *testing.T) {
	vault := redact.NewVault()
	var b bytes.Buffer
	w := &logWriter{vault: vault, w: &b}
	for entry, want := range map[string]string{
		"I1 \"Response Body\" body=<\n\t" + liveSecret + "\n >\n":                           "I1 \"Response Body\" body=\"*** (withheld: it may hold values of Secrets)\"\n",
		"I1 \"Request Body\" body=" + fmt.Sprintf("%q", liveSecret[:60]) + "\n":             "I1 \"Request Body\" body=\"*** (withheld: it may hold values of Secrets)\"\n",
		"I1 \"Response Body\" body=<\n\t00000000  0a 1f 0a 02 76 31 |....v1|\n >\n":         "I1 \"Response Body\" body=\"*** (withheld: it may hold values of Secrets)\"\n",
		`I1 "Response Body" body="{\"kind\":\"Secret\",\"verbs\":[\"get\"]}"` + "\n":        `I1 "Response Body" body="{\"kind\":\"Secret\",\"verbs\":[\"get\"]}"` + "\n",
		`I1 "Response Body" body="{\"kind\":\"SecretStore\",\"apiVersion\":\"v1\"}"` + "\n": `I1 "Response Body" body="{\"kind\":\"SecretStore\",\"apiVersion\":\"v1\"}"` + "\n",
		"I1 \"Response\" verb=\"GET\" url=\"https://x/api/v1/secrets\" status=\"200 OK\"\n": "I1 \"Response\" verb=\"GET\" url=\"https://x/api/v1/secrets\" status=\"200 OK\"\n",
	} {
		b.Reset()
		if n, err := w.Write([]byte(entry)); n != len(entry) || err != nil || b.String() != want {
			t.Errorf("%q: got %q, want %q (%d, %v)", entry, b.String(), want, n, err)
		}
	}
}

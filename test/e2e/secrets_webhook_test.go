package e2e_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// tellingValues are values of a Secret that most kinds of quoting change.
func tellingValues() map[string]string {
	return map[string]string{
		"umlaut": "CANARYümlaut-pass",
		"bs":     `CANARY\back`,
		"nlend":  "CANARY-7trail\n",
		"spc":    "CANARY p&ss/word+1",
		"url":    "postgres://app:CANARY-7dbpw@db:5432/x",
		"props":  "user=app\npassword=CANARY-7prop\n",
		"quotes": `CANARY"a'b<c>`,
		"long":   "CANARYlongvalue-" + strings.Repeat("abcdefghijklmnopqrstuvwxyz0123456789-", 3),
	}
}

// spelled returns the forms in which programs in several languages quote a value.
func spelled(value string) []string {
	quoted := func(text string, html bool) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		_ = e.Encode(text)
		return strings.TrimSpace(b.String())
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	wrapped := encoded
	if len(encoded) > 76 {
		wrapped = encoded[:76] + "\n" + encoded[76:]
	}
	last := strings.Split(strings.TrimSpace(value), "=")
	password, _, _ := strings.Cut(last[len(last)-1], "@")
	password = password[strings.LastIndex(password, ":")+1:]
	return []string{
		value, quoted(value, false), quoted(value, true), strconv.Quote(value), strconv.QuoteToASCII(value),
		"'" + strings.ReplaceAll(value, "'", "''") + "'", url.QueryEscape(value), url.PathEscape(value),
		encoded, wrapped, strings.TrimRight(encoded, "="), base64.URLEncoding.EncodeToString([]byte(value)), url.QueryEscape(encoded),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
		value[:min(len(value), 24)] + "...", password,
	}
}

// quoter is an admission webhook that quotes the values of Secrets, and stores its messages.
type quoter struct {
	mu      sync.Mutex
	message []string
}

func (q *quoter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var secret corev1.Secret
	raw := review.Request.Object.Raw
	if len(raw) == 0 {
		raw = review.Request.OldObject.Raw
	}
	_ = json.Unmarshal(raw, &secret)
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	deny := func(s metav1.Status) { response.Allowed, response.Result = false, &s }
	var lines, block []string
	for key, value := range secret.Data {
		lines = append(lines, key+" "+strings.Join(spelled(string(value)), " | "))
		block = append(block, fmt.Sprintf("  %s: |\n    %s", key, strings.ReplaceAll(string(value), "\n", "\n    ")))
	}
	switch how, _, _ := strings.Cut(secret.Name, "-"); how {
	case "warn":
		response.Warnings = strings.Split(strings.Join(lines, "\n"), "\n")
	case "deny":
		deny(metav1.Status{Code: http.StatusForbidden, Message: "denied: " + strings.Join(lines, " ; ")})
	case "object":
		deny(metav1.Status{Code: http.StatusForbidden, Message: "denied: " + string(raw)})
	case "block":
		deny(metav1.Status{Code: http.StatusForbidden, Message: "denied:\n" + strings.Join(block, "\n")})
	case "cause":
		var causes []metav1.StatusCause
		for _, line := range lines {
			causes = append(causes, metav1.StatusCause{Message: line, Field: "data." + line})
		}
		deny(metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "bad", Details: &metav1.StatusDetails{Causes: causes}})
	}
	q.mu.Lock()
	for _, value := range secret.Data {
		q.message = append(q.message, spelled(string(value))...)
	}
	q.mu.Unlock()
	review.Response, review.Request = response, nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// Edge case 86: a webhook quotes a Secret's values in warnings, denials, causes of a denial, and as
// a whole object, in the formats of several languages. No output contains any of them.
func TestNoOutputContainsEncodedSecret(t *testing.T) {
	c := shared.Cluster(t)
	q := &quoter{}
	server := httptest.NewTLSServer(q)
	t.Cleanup(server.Close)
	ns := e2etest.Namespace(t, c)
	var set strings.Builder
	for _, how := range []string{"warn", "deny", "object", "block", "cause"} {
		set.WriteString("---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + how + "-m}\nstringData: " + inJSON(t, tellingValues()) + "\n")
	}
	manifest := e2etest.File(t, set.String())
	e2etest.Kubectl(t, c, "create", "-n", ns, "-f", manifest)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	hook := e2etest.File(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: `+ns+`}
webhooks:
- name: quoter.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "`+server.URL+`", caBundle: `+bundle+`}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+ns+`}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [secrets]}]
`)
	e2etest.Kubectl(t, c, "apply", "-f", hook)
	t.Cleanup(func() {
		_ = exec.Command(c.Binary("kubectl"), "delete", "-f", hook, "--kubeconfig", c.KubeconfigPath).Run()
	})
	for asked, began := false, time.Now(); !asked; time.Sleep(100 * time.Millisecond) { // the API server notices the configuration a moment later
		_ = exec.Command(c.Binary("kubectl"), "label", "secret", "--all", "a=b", "--dry-run=server", "-n", ns, "--kubeconfig", c.KubeconfigPath).Run()
		q.mu.Lock()
		asked = len(q.message) > 0
		q.mu.Unlock()
		if time.Since(began) > time.Minute {
			t.Fatal("the webhook was not called within a minute")
		}
	}
	for _, args := range [][]string{
		{"apply", "-f", manifest, "--take=all"},
		{"apply", "-f", manifest, "--take=all", "-o", "json"},
		{"apply", "-f", manifest, "--take=all", "-v10"},
		{"diff", "-f", manifest, "--take=all", "-o", "stream"},
		{"delete", "-f", manifest, "-v8"},
	} {
		r := e2etest.Plugin(t, c.KubeconfigPath, append(args, "-n", ns)...)
		out := r.Stdout.String() + r.Stderr.String()
		q.mu.Lock()
		for _, form := range q.message {
			if strings.Contains(out, form) {
				t.Errorf("output contains %q: %s", form, r)
				break
			}
		}
		q.mu.Unlock()
		if at := strings.Index(out, "CANARY"); at >= 0 || !strings.Contains(out, "***") {
			t.Errorf("output contains a canary, or nothing was masked: %q: %s", out[max(0, at-100):min(len(out), at+100)], r)
		}
	}
}

package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A client without the token gets 404, and its request body is not read (edge case 101).
func TestWrongToken(t *testing.T) {
	var known tokens
	known.use("0123456789abcdef")
	read := false
	asked := 0
	handler := known.behind(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	ask := func(path string) int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, readerFunc(func([]byte) (int, error) {
			read = true
			return 0, io.EOF
		})))
		return w.Code
	}
	for _, path := range []string{
		"/", "/ownership", "/ownership/", "/ownership/0123456789abcde", "/ownership/0123456789abcdef0", "/ownership/0123456789ABCDEF",
		"/ownership/0123456789abcdef/", "/ownership/?0123456789abcdef", "/ownership/x?token=0123456789abcdef", "/0123456789abcdef/ownership",
	} {
		if status := ask(path); status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, status)
		}
	}
	if read || asked > 0 {
		t.Errorf("read a body: %t; handed on: %d", read, asked)
	}
	if status := ask("/ownership/0123456789abcdef"); status != http.StatusOK || asked != 1 {
		t.Errorf("the API server got %d", status)
	}
	if (&tokens{}).knows("") {
		t.Error("knows() = true without a token, want false")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// API servers may notice a new path some time after it was published, so the previous one stays
// valid.
func TestTokensOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known tokens
		for _, token := range []string{"first", "second", "second"} {
			known.use(token)
		}
		time.Sleep(tokenOverlap - time.Second)
		known.use("second")
		if !known.knows("first") || !known.knows("second") {
			t.Error("one of the two tokens is rejected, want both accepted")
		}
		time.Sleep(2 * time.Second)
		if known.knows("first") || !known.knows("second") {
			t.Error("after the overlap, want only the second token accepted")
		}
	})
}

// The guard writes only paths, so an administrator's time-out or failure policy stays. If all paths
// are right, the guard writes nothing.
func TestPaths(t *testing.T) {
	entry := func(name, path string) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{Name: name, ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: &path}}}
	}
	url := entry("ownership.k8sconnect.io", "")
	url.ClientConfig.Service = nil
	is := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Webhooks: []admissionv1.ValidatingWebhook{
		entry("ownership.k8sconnect.io", "/ownership/secret"), entry("deprecation.k8sconnect.io", "/deprecation/old"),
		entry("custom.k8sconnect.io", ""), entry("other.example.com", "/other"), url,
	}}
	is.Webhooks[2].ClientConfig.Service.Path = nil
	patch, err := paths(is, "secret")
	want := `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},` +
		`{"op":"add","path":"/webhooks/1/clientConfig/service/path","value":"/deprecation/secret"},` +
		`{"op":"add","path":"/webhooks/2/clientConfig/service/path","value":"/deprecation/secret"}]`
	if err != nil || string(patch) != want {
		t.Errorf("%s (%v), want %s", patch, err, want)
	}
	is.Webhooks = is.Webhooks[:1]
	if patch, err := paths(is, "secret"); patch != nil || err != nil {
		t.Errorf("%s (%v), want none", patch, err)
	}
}

// disown removes the webhook's managed fields. Without any, nothing is written.
func TestDisown(t *testing.T) {
	is := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm"}, {Manager: guardManager}, {Manager: "kubectl"}, {Manager: certificateManager}, {Manager: callsManager}}}}
	patch, err := disown(is)
	if want := `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/managedFields/4"},{"op":"remove","path":"/metadata/managedFields/3"},{"op":"remove","path":"/metadata/managedFields/1"}]`; err != nil || string(patch) != want {
		t.Errorf("%s (%v), want %s", patch, err, want)
	}
	is.ManagedFields = is.ManagedFields[:1]
	if patch, err := disown(is); patch != nil || err != nil {
		t.Errorf("%s (%v), want none", patch, err)
	}
}

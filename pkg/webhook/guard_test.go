package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/certificates"
)

// A client that does not know the secret of the path gets 404, and not a byte of its
// request is read (edge case 101).
func TestStrangers(t *testing.T) {
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
		t.Error("before there is a token, none is known")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// API servers hear of a new path a little after it is published.
func TestTokensOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known tokens
		for _, token := range []string{"first", "second", "second"} {
			known.use(token)
		}
		time.Sleep(tokenOverlap - time.Second)
		known.use("second")
		if !known.knows("first") || !known.knows("second") {
			t.Error("both are to be known")
		}
		time.Sleep(2 * time.Second)
		if known.knows("first") || !known.knows("second") {
			t.Error("the second alone is to be known")
		}
	})
}

// All foreign changes to the configuration are undone, except for what the certificates
// and the breaker write; a correct configuration is not written (edge case 103).
func TestRepair(t *testing.T) {
	path, port, timeout := "/ownership/secret", int32(443), int32(1)
	ignore, none := admissionv1.Ignore, admissionv1.SideEffectClassNone
	entry := func(name string) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{
			Name: name, FailurePolicy: &ignore, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "home", Name: "k8sconnect", Port: &port}},
			Rules:        []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"UPDATE"}}},
		}
	}
	text, err := json.Marshal([]admissionv1.ValidatingWebhook{entry("ownership.k8sconnect.io"), entry("reach.k8sconnect.io")})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := parseCharted(string(text))
	if err != nil {
		t.Fatal(err)
	}
	good := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{digestAnnotation: ours.digest}},
		Webhooks:   []admissionv1.ValidatingWebhook{entry("ownership.k8sconnect.io"), entry("reach.k8sconnect.io")},
	}
	good.Webhooks[0].ClientConfig.CABundle = []byte("authority")
	good.Webhooks[0].ClientConfig.Service.Path = &path
	good.Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{suspendedLabel: "true"}}
	reach := "/reach/secret"
	good.Webhooks[1].ClientConfig.Service.Path = &reach
	if patch, restored, err := ours.repair(good, "secret"); patch != nil || restored != nil || err != nil {
		t.Fatalf("nothing is to be done: %s %v %v", patch, restored, err)
	}
	apply := func(is *admissionv1.ValidatingWebhookConfiguration, patch []byte) {
		var operations []struct {
			Op, Path string
			Value    json.RawMessage
		}
		if err := json.Unmarshal(patch, &operations); err != nil {
			t.Fatal(err)
		}
		if len(operations) != 2 || operations[0].Op != "test" || string(operations[0].Value) != `"7"` || operations[1].Path != "/webhooks" {
			t.Fatalf("the patch is %s", patch)
		}
		is.Webhooks = nil
		if err := json.Unmarshal(operations[1].Value, &is.Webhooks); err != nil {
			t.Fatal(err)
		}
	}
	fail, long, elsewhere := admissionv1.Fail, int32(30), "https://elsewhere/"
	for name, tt := range map[string]struct {
		change   func(is *admissionv1.ValidatingWebhookConfiguration)
		restored []string
		// lost: the change removes the authority as well, and the certificates write it
		// again.
		lost bool
	}{
		"no path yet": {change: func(is *admissionv1.ValidatingWebhookConfiguration) { is.Webhooks[0].ClientConfig.Service.Path = nil }},
		"an old path": {change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks[0].ClientConfig.Service.Path = &reach
		}},
		"Fail": {restored: []string{"ownership.k8sconnect.io"}, change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks[0].FailurePolicy = &fail
		}},
		"rules and time-out of both": {restored: []string{"ownership.k8sconnect.io", "reach.k8sconnect.io"}, change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks[0].Rules = append(is.Webhooks[0].Rules, is.Webhooks[0].Rules...)
			is.Webhooks[1].TimeoutSeconds = &long
		}},
		"an address of its own": {restored: []string{"ownership.k8sconnect.io"}, change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks[0].ClientConfig.Service, is.Webhooks[0].ClientConfig.URL = nil, &elsewhere
		}},
		"another entry": {restored: []string{"evil.example.com"}, change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks = append(is.Webhooks, entry("evil.example.com"))
		}},
		"no entry": {restored: []string{"ownership.k8sconnect.io"}, lost: true, change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks = is.Webhooks[1:]
		}},
		"another order": {change: func(is *admissionv1.ValidatingWebhookConfiguration) {
			is.Webhooks = []admissionv1.ValidatingWebhook{is.Webhooks[1], is.Webhooks[0]}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			is := good.DeepCopy()
			tt.change(is)
			patch, restored, err := ours.repair(is, "secret")
			if err != nil || patch == nil {
				t.Fatalf("patch %s, error %v", patch, err)
			}
			apply(is, patch)
			want := good.DeepCopy()
			if tt.lost {
				want.Webhooks[0].ClientConfig.CABundle, want.Webhooks[0].ObjectSelector = nil, nil
			}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.restored, restored); diff != "" {
				t.Error(diff)
			}
			if again, _, _ := ours.repair(is, "secret"); again != nil {
				t.Errorf("and again: %s", again)
			}
		})
	}
	t.Run("another chart's", func(t *testing.T) {
		is := good.DeepCopy()
		is.Annotations[digestAnnotation] = "another"
		is.Webhooks[0].FailurePolicy = &fail
		if patch, _, err := ours.repair(is, "secret"); patch != nil || err != nil {
			t.Errorf("an upgrade is left alone: %s %v", patch, err)
		}
		want := is.DeepCopy()
		is.Webhooks[0].ClientConfig.Service.Path = nil
		patch, restored, err := ours.repair(is, "secret")
		if err != nil || patch == nil || restored != nil {
			t.Fatalf("paths are written: %s %v %v", patch, restored, err)
		}
		apply(is, patch)
		if diff := cmp.Diff(want, is); diff != "" {
			t.Error(diff)
		}
	})
}

// A chart that knew no secret states the paths, and its pods know no others.
func TestStatedPathsStay(t *testing.T) {
	path := admission.OwnershipPath
	is := &admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "ownership.k8sconnect.io", ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: &path}},
	}}}
	if patch, _, err := (charted{digest: "ours"}).repair(is, "secret"); patch != nil || err != nil {
		t.Errorf("%s (%v)", patch, err)
	}
	is.Annotations = map[string]string{digestAnnotation: "another"}
	if patch, _, err := (charted{digest: "ours"}).repair(is, "secret"); patch == nil || err != nil {
		t.Errorf("a path without its secret stays (%v)", err)
	}
}

// Nothing is owned for having been put back, and nothing is written where that is so.
func TestDisown(t *testing.T) {
	is := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm"}, {Manager: guardManager}, {Manager: "kubectl"}, {Manager: certificates.Manager}, {Manager: callsManager}}}}
	patch, err := disown(is)
	if want := `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/managedFields/4"},{"op":"remove","path":"/metadata/managedFields/3"},{"op":"remove","path":"/metadata/managedFields/1"}]`; err != nil || string(patch) != want {
		t.Errorf("%s (%v), want %s", patch, err, want)
	}
	is.ManagedFields = is.ManagedFields[:1]
	if patch, err := disown(is); patch != nil || err != nil {
		t.Errorf("%s (%v), want none", patch, err)
	}
}

package faults_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestForgedReviewsAreRefused sends reviews that are not from the API server (edge case 101): they are refused
// before their bodies are read, are not recorded, and fill neither memory nor the log.
func TestForgedReviewsAreRefused(t *testing.T) {
	circle.Full(t)
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	r := tr.first(t)
	tr.makeNamespace(t, "work")
	tr.called(t, "before")
	tr.take(t, "work", "victim", "first")
	_, before, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	message := tr.log.tail(10000)
	u, err := tr.typed.CoreV1().ConfigMaps("work").Get(t.Context(), "victim", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body := forged(t, "work", "victim", u.UID, u.ResourceVersion)
	client := &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // It is the stranger who does not look.
	for i := range 300 {
		path := []string{"/", "/ownership", "/ownership/", "/ownership/00000000000000000000000000000000", "/deprecation", "/reach/"}[i%6]
		answer, err := client.Post("https://"+r.AdmissionAddress()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Fatalf("%s: %s", path, answer.Status)
		}
	}
	// The webhook does not wait for a body that never arrives.
	for range 200 {
		connection, err := tls.Dial("tcp", r.AdmissionAddress(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // As above.
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		if status := promise(connection, r.AdmissionAddress()); !strings.Contains(status, " 404 ") {
			t.Fatalf("status for a body that never arrives is %q, want 404", status)
		}
	}
	for range 200 { // nor for a connection without TLS
		connection, err := net.Dial("tcp", r.AdmissionAddress())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		_ = connection.SetReadDeadline(time.Now().Add(10 * time.Minute))
		_, _ = io.Copy(io.Discard, connection)
		_ = connection.Close()
	}
	tr.take(t, "work", "victim", "second") // the forged hint would be for this write
	tr.called(t, "after")
	records, err := tr.records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		for _, e := range record.Entries {
			if e.User == "mallory" {
				t.Errorf("a forged review was recorded: %+v", e)
			}
		}
	}
	if _, after, err := r.Memory(); err != nil || after-before > 64<<20 {
		t.Errorf("the peak of memory grew by %d MB (%v)", (after-before)>>20, err)
	}
	if grown := strings.Count(tr.log.tail(10000), "\n") - strings.Count(message, "\n"); grown > 20 {
		t.Errorf("%d new lines in the log, want at most 20", grown)
	}
}

// promise announces a large body, sends none, and returns the response's status.
func promise(connection net.Conn, host string) string {
	_ = connection.SetDeadline(time.Now().Add(10 * time.Minute))
	_, _ = fmt.Fprintf(connection, "POST /ownership/guess HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", host)
	status, _ := bufio.NewReader(connection).ReadString('\n')
	return status
}

// forged returns a review of a takeover by a user who never wrote.
func forged(t *testing.T, namespace, name string, uid types.UID, version string) string {
	t.Helper()
	side := func(manager string) runtime.RawExtension {
		return runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q,
			"managedFields":[{"manager":%q,"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}]},"data":{"k":%q,"large":%q}}`,
			name, namespace, uid, version, manager, manager, strings.Repeat("x", 200<<10)))}
	}
	text, err := json.Marshal(admission.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admission.AdmissionRequest{
			UID: "1", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			Namespace: namespace, Name: name, Operation: admission.Update, UserInfo: authenticationv1.UserInfo{Username: "mallory"},
			OldObject: side("first"), Object: side("second"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTamperedConfiguration changes the configuration as Helm and as an administrator: upgrades keep the secret
// in its paths, and the webhook restores its own part and nothing else (edge case 103).
func TestTamperedConfiguration(t *testing.T) {
	circle.Full(t)
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	tr.first(t)
	tr.replica(t)
	tr.makeNamespace(t, "work")
	tr.called(t, "first")
	secret := regexp.MustCompile("^/ownership/[0-9a-f]{32}$")
	path := *tr.entries(t)[0].ClientConfig.Service.Path
	if !secret.MatchString(path) {
		t.Fatalf("the path %s contains no secret", path)
	}
	good := tr.entries(t)
	helm := chart.NewHelm(t, tr.KubeconfigPath)
	helm.Run(t, "upgrade", companion.Release, chart.Dir(t), "--namespace", companion.Namespace)
	if now := *tr.entries(t)[0].ClientConfig.Service.Path; now != path {
		t.Errorf("the path after an upgrade is %s, want %s", now, path)
	}
	// An upgrade can remove entries, because no other manager owns a part of them.
	tr.await(t, "the webhook owns nothing", func() bool { return !tr.owned(t) })
	helm.Run(t, "upgrade", companion.Release, chart.Dir(t), "--namespace", companion.Namespace, "--set", "admission.deprecation=false")
	if n := len(tr.entries(t)); n != 2 {
		t.Errorf("%d entries without deprecation, want 2", n)
	}
	helm.Run(t, "rollback", companion.Release, "--namespace", companion.Namespace)
	tr.await(t, "they are there again", func() bool { return same(good, tr.entries(t)) })
	// An administrator's change stays, and the webhook keeps its own part.
	configurations := tr.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	edit := `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":2},{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"},{"op":"remove","path":"/webhooks/0/clientConfig/service/path"}]`
	if _, err := configurations.Patch(t.Context(), companion.Release, types.JSONPatchType, []byte(edit), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	tr.called(t, "edited")
	if w := tr.entries(t)[0]; *w.TimeoutSeconds != 2 || *w.ClientConfig.Service.Path != path {
		t.Errorf("the timeout is %d, want 2; the path is %s, want the former one", *w.TimeoutSeconds, *w.ClientConfig.Service.Path)
	}
}

// TestWebhookObjectsAreRecreated deletes each object that the webhook writes, as its page describes: the webhook
// recreates it and continues. Helm still owns it, so an uninstall removes it, and the next install
// succeeds (edge case 80).
func TestWebhookObjectsAreRecreated(t *testing.T) {
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	r := tr.first(t)
	tr.makeNamespace(t, "work")
	tr.called(t, "first")
	secrets, configMaps := tr.typed.CoreV1().Secrets(companion.Namespace), tr.typed.CoreV1().ConfigMaps(companion.Namespace)
	path, authority := *tr.entries(t)[0].ClientConfig.Service.Path, string(tr.entries(t)[0].ClientConfig.CABundle)
	for _, err := range []error{
		secrets.Delete(t.Context(), companion.Release+"-path", metav1.DeleteOptions{}),
		secrets.Delete(t.Context(), companion.Release+"-self-signed", metav1.DeleteOptions{}),
		configMaps.Delete(t.Context(), companion.Release, metav1.DeleteOptions{}),
		tr.typed.CoordinationV1().Leases(companion.Namespace).Delete(t.Context(), companion.Release, metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tr.await(t, "there are another path and another authority", func() bool {
		// A replica that loses its Secret while it still begins ends, and a kubelet starts it again.
		if len(tr.Running()) == 0 {
			r = tr.replica(t)
		}
		return !slices.ContainsFunc(tr.entries(t), func(w admissionv1.ValidatingWebhook) bool {
			return *w.ClientConfig.Service.Path == path || string(w.ClientConfig.CABundle) == authority
		})
	})
	tr.called(t, "rotated")
	tr.watches(t)
	tr.await(t, "it leads again", func() bool {
		lease, err := tr.typed.CoordinationV1().Leases(companion.Namespace).Get(t.Context(), companion.Release, metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	})
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	if err := tr.Uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"secrets", "configmaps"} {
		list, err := tr.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: kind}).Namespace(companion.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetName() != "kube-root-ca.crt" {
				t.Errorf("%s/%s still exists after the uninstall", kind, o.GetName())
			}
		}
	}
	if err := tr.Helm(t.Context(), "install"); err != nil {
		t.Error(err)
	}
}

// owned reports whether the webhook owns a part of its configuration.
func (tr *trial) owned(t *testing.T) bool {
	t.Helper()
	is, err := tr.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), companion.Release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(is.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return strings.HasPrefix(e.Manager, "k8sconnect-webhook") })
}

// same reports whether entries are equal, except for their CAs, which are renewed.
func same(a, b []admissionv1.ValidatingWebhook) bool {
	bare := func(all []admissionv1.ValidatingWebhook) (out []string) {
		for _, w := range all {
			w.ClientConfig.CABundle = nil
			text, _ := json.Marshal(w)
			out = append(out, string(text))
		}
		return out
	}
	return slices.Equal(bare(a), bare(b))
}

// entries returns the entries of the release's configuration.
func (tr *trial) entries(t *testing.T) []admissionv1.ValidatingWebhook {
	t.Helper()
	is, err := tr.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), companion.Release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return is.Webhooks
}

// called takes over new objects, whose names begin with when, until a user is recorded: the API
// server's calls then reach the webhook.
func (tr *trial) called(t *testing.T, when string) {
	t.Helper()
	n := 0
	tr.await(t, "a user is recorded "+when, func() bool {
		n++
		name := fmt.Sprint(when, "-", n)
		tr.take(t, "work", name, "first")
		tr.take(t, "work", name, "second")
		records, err := tr.records(t.Context())
		return err == nil && slices.ContainsFunc(records, func(r ownership.Record) bool {
			return strings.HasPrefix(r.Object.Name, when+"-") && slices.ContainsFunc(r.Entries, func(e ownership.Entry) bool { return e.User != "" })
		})
	})
}

package certificates_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admission "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/certificates"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

const (
	namespace     = "rotator"
	secretName    = "webhook-certificates"
	configuration = "rotator"
	service       = "webhook"
	user          = "rotator"
)

// replica is one process of the webhook: a rotator, and a server that allows all.
type replica struct {
	*certificates.Rotator
	server *httptest.Server
	kill   context.CancelFunc
}

// start runs a rotator with no more rights than the chart gives, and its server.
func start(t *testing.T, c *cluster.Cluster, name string) *replica {
	t.Helper()
	path, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	rotator, err := certificates.New(client.CoreV1().Secrets(namespace),
		client.AdmissionregistrationV1().ValidatingWebhookConfigurations(), certificates.Options{
			Secret: secretName, Configuration: configuration, Namespace: namespace, Service: service,
			CALifetime: 16 * time.Second, ServingLifetime: 9 * time.Second, Overlap: 2 * time.Second,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)).With("replica", name),
		})
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = rotator.Run(ctx) }()
	server := httptest.NewUnstartedServer(http.HandlerFunc(allow))
	server.TLS = &tls.Config{GetCertificate: rotator.GetCertificate}
	server.Config.SetKeepAlivesEnabled(false) // each call verifies the certificate
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	startWithoutCertificate(server)
	t.Cleanup(func() { kill(); <-done; server.Close() })
	return &replica{rotator, server, kill}
}

// startWithoutCertificate serves with nothing but what the rotator gives:
// httptest would add a certificate of its own.
func startWithoutCertificate(s *httptest.Server) {
	s.Listener = tls.NewListener(s.Listener, s.TLS)
	s.Start()
}

func allow(w http.ResponseWriter, r *http.Request) {
	var review admission.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// balancer is the Service: each connection goes to the next ready replica.
type balancer struct {
	mu       sync.Mutex
	replicas []*replica
	turn     int
}

func (b *balancer) set(replicas ...*replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = replicas
}

func (b *balancer) pick() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.replicas {
		b.turn++
		if r := b.replicas[b.turn%len(b.replicas)]; r.Ready() {
			return r.server.Listener.Addr().String(), true
		}
	}
	return "", false
}

func (b *balancer) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go b.carry(client)
		}
	}()
	return listener.Addr().String()
}

func (b *balancer) carry(client net.Conn) {
	defer client.Close()
	address, ok := b.pick()
	if !ok {
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = server.(*net.TCPConn).ReadFrom(client); _ = server.Close() }()
	_, _ = client.(*net.TCPConn).ReadFrom(server)
}

// load writes as fast as four can, and counts what failed while it should not.
type load struct {
	calls, broken atomic.Int64
	excused       atomic.Bool
}

func (l *load) run(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("load-", i, "-", n)}},
					metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				l.calls.Add(1)
				if err != nil && ctx.Err() == nil && !l.excused.Load() {
					l.broken.Add(1)
					t.Error(err)
				}
				time.Sleep(circle.Of(20*time.Millisecond, 5*time.Millisecond, 5*time.Millisecond))
			}
		})
	}
	t.Cleanup(func() { cancel(); wait.Wait() })
}

// Edge case 80: authorities and certificates are replaced several times under
// load, replicas are killed, the Secret is deleted: no call fails.
func TestRotationsUnderLoad(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	install(t, client)
	var b balancer
	if err := c.RouteService(namespace, service, b.listen(t)); err != nil {
		t.Fatal(err)
	}
	one, two := start(t, c, "one"), start(t, c, "two")
	eventually(t, "both are ready", func() bool { return one.Ready() && two.Ready() })
	b.set(one, two)
	eventually(t, "calls go through", func() bool {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
	var l load
	l.run(t, client)

	authority := func() string { return string(read(t, client)["ca.crt"]) }
	rotated := func(from string) { // Takes a quarter of a minute.
		eventually(t, "the authority is another", func() bool { return authority() != from })
	}
	eventually(t, "a rotation is under way", func() bool { return len(read(t, client)["next-ca.crt"]) > 0 })
	before := authority()
	two.kill() // its server continues for a moment with what it has
	b.set(one)
	two = start(t, c, "three")
	eventually(t, "the new one is ready", two.Ready)
	b.set(one, two)
	rotated(before)

	before = authority()
	if err := client.CoreV1().Secrets(namespace).Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Secret is there again", func() bool { return authority() == before })
	if circle.Of(false, true, true) {
		rotated(before)
	}

	l.excused.Store(true)
	reset(t, client)
	eventually(t, "both trust each other again", func() bool { return bundle(t, client) != "" && one.Ready() && two.Ready() })
	time.Sleep(time.Second) // for the calls that were made before; a longer time hides nothing
	l.excused.Store(false)
	if circle.Of(false, true, true) {
		rotated(authority())
	}
	if n := l.broken.Load(); n > 0 || l.calls.Load() == 0 {
		t.Errorf("%d of %d calls failed", n, l.calls.Load())
	}
	t.Logf("%d calls", l.calls.Load())
	ownsOnlyBundles(t, client)
}

// ownsOnlyBundles checks that Helm and other tools that apply the configuration do not
// conflict with the rotator.
func ownsOnlyBundles(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	object, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), configuration, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"f:webhooks":{"k:{\"name\":\"one.rotator.example\"}":{"f:clientConfig":{"f:caBundle":{}}},` +
		`"k:{\"name\":\"two.rotator.example\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`
	for _, m := range object.ManagedFields {
		if m.Manager != "k8sconnect-webhook-certificates" {
			continue
		}
		if got := string(m.FieldsV1.GetRawBytes()); got != want || m.Operation != metav1.ManagedFieldsOperationUpdate {
			t.Errorf("%s owns %s", m.Operation, got)
		}
		return
	}
	t.Error("the rotator owns nothing")
}

func reset(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), configuration, types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func bundle(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	object, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), configuration, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(object.Webhooks[0].ClientConfig.CABundle)
}

func read(t *testing.T, client kubernetes.Interface) map[string][]byte {
	t.Helper()
	secret, err := client.CoreV1().Secrets(namespace).Get(t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return secret.Data
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in two minutes: " + what)
		}
	}
}

// install makes what the chart makes.
func install(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err)
	_, err = client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{})
	must(err)
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user, APIGroup: rbacv1.GroupName}}
	_, err = client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secretName},
			Verbs: []string{"get", "list", "watch", "update", "patch", "create"},
		}},
	}, metav1.CreateOptions{})
	must(err)
	_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}, metav1.CreateOptions{})
	must(err)
	_, err = client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"},
			ResourceNames: []string{configuration}, Verbs: []string{"get", "list", "watch", "patch"},
		}},
	}, metav1.CreateOptions{})
	must(err)
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	}, metav1.CreateOptions{})
	must(err)
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks:   []admissionv1.ValidatingWebhook{entry("one"), entry("two")},
	}, metav1.CreateOptions{})
	must(err)
}

func entry(name string) admissionv1.ValidatingWebhook {
	return admissionv1.ValidatingWebhook{
		Name:                    name + ".rotator.example",
		ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: namespace, Name: service}},
		FailurePolicy:           new(admissionv1.Fail),
		SideEffects:             new(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}
}

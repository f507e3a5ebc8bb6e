package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// These stand between the writers and etcd.
const (
	setupNone = "no webhook"
	// setupFalse is the least that any condition costs: the API server takes the objects
	// apart before it evaluates even this one.
	setupFalse   = "the condition false"
	setupNothing = "a webhook that does nothing"
	setupOurs    = "k8sconnect"
)

func allSetups() []string { return []string{setupNone, setupFalse, setupNothing, setupOurs} }

// lab is a control plane in one of the setups: each has its own, since an API
// server needs a while to forget a webhook.
type lab struct {
	setup   string
	cluster *cluster.Cluster
	client  dynamic.Interface
	release *companion.Companion
	replica *companion.Replica
	nothing *exec.Cmd
}

func newLab(ctx context.Context, setup string, o options) (_ *lab, err error) {
	l := &lab{setup: setup}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.cluster, err = cluster.Start(ctx, cluster.Options{}); err != nil {
		return nil, err
	}
	config, err := l.cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if l.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if setup == setupNone {
		return l, nil
	}
	l.release, err = companion.Install(ctx, l.cluster, companion.Options{Log: o.log})
	if err != nil {
		return nil, err
	}
	switch setup {
	case setupOurs:
		l.replica, err = l.release.Start(ctx)
	case setupFalse:
		err = l.configure(ctx, func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = []admissionv1.MatchCondition{{Name: "never", Expression: "false"}}
		})
	default:
		err = l.startNothing(ctx)
	}
	return l, err
}

func (l *lab) close() {
	if l.nothing != nil {
		_ = l.nothing.Process.Kill()
		_ = l.nothing.Wait()
	}
	if l.release != nil {
		l.release.Close()
	}
	if l.cluster != nil {
		l.cluster.Stop()
	}
}

// startNothing puts the webhook that does nothing where ours would be.
func (l *lab) startNothing(ctx context.Context) error {
	service, err := l.release.Service(ctx)
	if err != nil {
		return err
	}
	host := service.Name + "." + service.Namespace + ".svc"
	authority, key, err := cert.GenerateSelfSignedCertKey(host, nil, []string{host})
	if err != nil {
		return err
	}
	certFile, keyFile := filepath.Join(l.cluster.Dir, "nothing.crt"), filepath.Join(l.cluster.Dir, "nothing.key")
	if err := os.WriteFile(certFile, authority, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return err
	}
	address, err := loopback.Address()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l.nothing = exec.Command(self, verbNothing, address, certFile, keyFile)
	l.nothing.Stderr = os.Stderr
	if err := l.nothing.Start(); err != nil {
		return err
	}
	if err := l.cluster.RouteService(service.Namespace, service.Name, address); err != nil {
		return err
	}
	return l.configure(ctx, func(w *admissionv1.ValidatingWebhook) { w.ClientConfig.CABundle = authority })
}

// configure changes each entry of the webhook configuration.
func (l *lab) configure(ctx context.Context, change func(*admissionv1.ValidatingWebhook)) error {
	config, err := l.cluster.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	list, err := configurations.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		for i := range c.Webhooks {
			change(&c.Webhooks[i])
		}
		if _, err := configurations.Update(ctx, &c, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// calls returns how often the API server has called a webhook of ours for a write, by
// its own count, and how many of the calls failed. The rule by which the webhook asks
// itself whether calls arrive is no cost of a write.
func (l *lab) calls(ctx context.Context) (made, failed float64, err error) {
	text, err := l.metricsText(ctx)
	if err != nil {
		return 0, 0, err
	}
	for series, n := range metrics(text) {
		switch {
		case strings.Contains(series, `name="reach.k8sconnect.io"`):
		case strings.HasPrefix(series, "apiserver_admission_webhook_admission_duration_seconds_count{"):
			made += n
		case strings.HasPrefix(series, "apiserver_admission_webhook_fail_open_count{"), strings.HasPrefix(series, "apiserver_admission_webhook_rejection_count{"):
			failed += n
		}
	}
	return made, failed, nil
}

// cpu is the CPU time that the API server has had so far, in seconds.
func (l *lab) cpu(ctx context.Context) (float64, error) {
	text, err := l.metricsText(ctx)
	if err != nil {
		return 0, err
	}
	for series, n := range metrics(text) {
		if series == "process_cpu_seconds_total" {
			return n, nil
		}
	}
	return 0, errors.New("the API server does not tell its CPU time")
}

// metricsText is what the API server tells of itself.
func (l *lab) metricsText(ctx context.Context) ([]byte, error) {
	config, err := l.cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
}

// metrics are the series of a text with their values.
func metrics(text []byte) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for line := range strings.Lines(string(text)) {
			var n float64
			series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if _, err := fmt.Sscan(value, &n); err == nil && !yield(series, n) {
				return
			}
		}
	}
}

// excluded returns how often a condition was false.
func (l *lab) excluded(ctx context.Context) (n float64, err error) {
	text, err := l.metricsText(ctx)
	for series, value := range metrics(text) {
		if strings.HasPrefix(series, "apiserver_admission_match_condition_exclusions_total{") && strings.Contains(series, `name="deprecation.k8sconnect.io"`) {
			n += value
		}
	}
	return n, err
}

// awaitConfigured waits until the API server goes by the configuration: it learns of it a
// moment after it is there. A webhook is called and answers; a condition that is false
// excludes a write.
func (l *lab) awaitConfigured(ctx context.Context) error {
	services := l.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default")
	for n := 0; ; n++ {
		before, failedBefore, err := l.calls(ctx)
		if err != nil {
			return err
		}
		if _, err := services.Create(ctx, deprecated(n), metav1.CreateOptions{}); err != nil {
			return err
		}
		after, failed, err := l.calls(ctx)
		if err != nil {
			return err
		}
		excluded, err := l.excluded(ctx)
		if err != nil {
			return err
		}
		if after > before && failed == failedBefore || l.setup == setupFalse && excluded > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not called: %w", l.setup, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// deprecated is a Service with a deprecated field, of which the webhook is asked.
func deprecated(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": fmt.Sprintf("await-%d", n)},
		"spec": map[string]any{
			"type": "LoadBalancer", "loadBalancerIP": "192.0.2.7", "allocateLoadBalancerNodePorts": false,
			"ports": []any{map[string]any{"port": int64(80)}},
		},
	}}
}

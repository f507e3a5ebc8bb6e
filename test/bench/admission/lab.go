package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// The setups: the admission of the API server.
const (
	setupNone = "no webhook"
	setupOurs = "k8sconnect"
)

// lab is a control plane in one of the setups. Each setup has its own, because an API server takes
// a while to forget a webhook.
type lab struct {
	setup   string
	cluster *cluster.Cluster
	client  dynamic.Interface
	typed   kubernetes.Interface
	release *companion.Companion
	replica *companion.Replica
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
	if l.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if setup == setupNone {
		return l, nil
	}
	l.release, err = companion.Install(ctx, l.cluster, companion.Options{Log: o.log})
	return l, err
}

// start starts the webhook.
func (l *lab) start(ctx context.Context) (err error) {
	if l.release != nil {
		l.replica, err = l.release.Start(ctx)
	}
	return err
}

func (l *lab) close() {
	if l.release != nil {
		l.release.Close()
	}
	if l.cluster != nil {
		l.cluster.Stop()
	}
}

// count contains the API server's counters so far.
type count struct {
	calls, failed float64 // calls of the webhook, except its self-test
	cpu           float64 // its CPU time, in seconds
}

// count reads the API server's metrics. It skips calls of the rule by which the webhook tests its
// own reachability.
func (l *lab) count(ctx context.Context) (c count, err error) {
	text, err := l.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(text)) {
		var n float64
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := fmt.Sscan(value, &n); err != nil || strings.Contains(series, `name="reach.k8sconnect.io"`) {
			continue
		}
		switch metric, _, _ := strings.Cut(series, "{"); metric {
		case "apiserver_admission_webhook_admission_duration_seconds_count":
			c.calls += n
		case "apiserver_admission_webhook_fail_open_count", "apiserver_admission_webhook_rejection_count":
			c.failed += n
		case "process_cpu_seconds_total":
			c.cpu = n
		}
	}
	return c, nil
}

// awaitConfigured waits until the API server calls the webhook for a Service with a deprecated
// field: it notices a new configuration after a moment.
func (l *lab) awaitConfigured(ctx context.Context) error {
	services := l.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default")
	for n := 0; ; n++ {
		before, err := l.count(ctx)
		if err != nil {
			return err
		}
		service := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": fmt.Sprintf("await-%d", n)},
			"spec": map[string]any{
				"type": "LoadBalancer", "loadBalancerIP": "192.0.2.7", "allocateLoadBalancerNodePorts": false,
				"ports": []any{map[string]any{"port": int64(80)}},
			},
		}}
		if _, err := services.Create(ctx, service, metav1.CreateOptions{}); err != nil {
			return err
		}
		after, err := l.count(ctx)
		if err != nil {
			return err
		}
		if after.calls > before.calls && after.failed == before.failed {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the webhook is not called: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

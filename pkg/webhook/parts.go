package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientmetadata "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/deletions"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/templates"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
)

const reporter = "k8sconnect-webhook"

// Setup configures the webhook's parts.
type Setup struct {
	// Service is the name of the Service, of the Lease, and of the ConfigMap that contains the
	// checkpoint.
	Service string
	// SelfSigned makes the webhook its own certificate authority. Secret is the name of the Secret
	// that stores the authority. Configuration is the name of the webhook configuration that trusts
	// it.
	SelfSigned            bool
	Secret, Configuration string
	PathSecret            string
	// SuspendCalls lets the leader suspend the API server's calls while they fail.
	SuspendCalls      bool
	ExcludeNamespaces []string
	ExcludeKinds      []schema.GroupKind
	// Deletions records who deleted which object.
	Deletions bool
	// Rollouts records who changed the Pod template of which workload.
	Rollouts bool
	// PublicScope publishes which kinds and namespaces are tracked, for readers of a history.
	PublicScope bool
	// RecordsPerSecond bounds the writes of records in the whole cluster; 0 means 10.
	RecordsPerSecond float64
	// Transitions, if set, receives each transition as a line of JSON.
	Transitions io.Writer
}

// NewParts returns the parts of the webhook for a cluster. Hints flow to the tracker, the tracker's
// transitions to the recorder, and the recorder's records to the cluster.
func NewParts(config *rest.Config, opts Options, setup Setup) (Parts, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // The recorder has its own limit.
	parts, err := newParts(config, opts, setup)
	if err != nil {
		return Parts{}, fmt.Errorf("set up the webhook: %w", err)
	}
	return parts, nil
}

func newParts(config *rest.Config, opts Options, setup Setup) (Parts, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Parts{}, err
	}
	catalogue, err := newCatalogue(client.Discovery())
	if err != nil {
		return Parts{}, err
	}
	registry := opts.Registry
	if registry == nil {
		registry = ctrlmetrics.Registry
	}
	h, err := newHistory(config, registry, opts, setup)
	if err != nil {
		return Parts{}, err
	}
	parts := Parts{
		Deprecations: catalogue, Definitions: catalogue,
		Hints: h.tracker, Live: h.tracker.Named, Runners: []Runner{h}, Ready: []func() bool{h.tracker.Ready}, Lead: h.lead,
	}
	if h.deletions != nil {
		parts.Deletions = h.deletions
	}
	if h.templates != nil {
		parts.Rollouts = h.templates
	}
	g := newGuard(client, opts, setup)
	parts.SelfSigned = g.certificate
	parts.Behind = g.tokens.behind
	parts.Runners = append(parts.Runners, g)
	parts.Ready = append(parts.Ready, g.ready)
	if !setup.SuspendCalls {
		return parts, nil
	}
	r, err := newReach(config, opts.Namespace, setup.Service)
	if err != nil {
		return Parts{}, err
	}
	b := &breaker{
		reach: r, configurations: g.configurations, configuration: setup.Configuration, events: h.reports, log: opts.Log,
		deprecated: catalogue.Resources, ready: func() bool { return h.tracker.Ready() && g.ready() }, led: make(chan struct{}),
	}
	parts.Runners = append(parts.Runners, b)
	parts.Lead = func() { h.lead(); b.lead() }
	return parts, registry.Register(b.metric())
}

func newGuard(client kubernetes.Interface, opts Options, setup Setup) *guard {
	g := &guard{
		secrets: client.CoreV1().Secrets(opts.Namespace), configurations: client.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		release: release{opts.Release, opts.Namespace}, secret: setup.PathSecret, configuration: setup.Configuration, log: opts.Log,
	}
	if setup.SelfSigned {
		g.certificate = &SelfSigned{
			secrets: g.secrets, release: g.release, dir: opts.CertDir,
			namespace: opts.Namespace, secret: setup.Secret, service: setup.Service, configuration: setup.Configuration,
		}
	}
	return g
}

func newCatalogue(client discovery.ServerVersionInterface) (*admission.Catalogue, error) {
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("get the server's version: %w", err)
	}
	release, err := deprecation.Server(*version)
	if err != nil {
		return nil, fmt.Errorf("the server's version: %w", err)
	}
	return &admission.Catalogue{Server: release}, nil
}

type history struct {
	tracker  *tracker.Tracker
	recorder *recorder.Recorder
	// deletions and templates are nil if they are not recorded.
	deletions *deletions.Recorder
	templates *templates.Recorder
	events    record.EventBroadcaster
	reports   record.EventRecorder
	client    kubernetes.Interface
	finish    func()
}

func newHistory(config *rest.Config, registry prometheus.Registerer, opts Options, setup Setup) (*history, error) {
	config = tracker.Checked(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := clientmetadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	store, err := NewStore(config)
	if err != nil {
		return nil, err
	}
	h := &history{events: record.NewBroadcaster(), client: client, finish: func() {}}
	h.reports = h.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: reporter})
	h.recorder = recorder.New(store, recorder.Options{
		Namespace: opts.Namespace, Events: h.reports,
		Transitions: setup.Transitions, Log: slog.New(logr.ToSlogHandler(opts.Log)), WritesPerSecond: setup.RecordsPerSecond,
	})
	of := release{opts.Release, opts.Namespace}
	var gone tracker.Deletions
	if setup.Deletions {
		h.deletions = deletions.New(store, deletions.Options{Namespace: opts.Namespace, Log: slog.New(logr.ToSlogHandler(opts.Log))})
		gone = h.deletions
	}
	var rollouts tracker.Rollouts
	if setup.Rollouts {
		h.templates = templates.New(store, slog.New(logr.ToSlogHandler(opts.Log)))
		rollouts = h.templates
	}
	var public tracker.Public
	if setup.PublicScope {
		public = client.CoreV1().ConfigMaps(ownership.ScopeNamespace)
	}
	h.tracker, err = tracker.New(tracker.Options{
		Public: public, Namespace: opts.Namespace, Deletions: gone, Rollouts: rollouts,
		Metadata: objects, Discovery: client.Discovery(), ConfigMaps: client.CoreV1().ConfigMaps(opts.Namespace),
		Sink: h.recorder, Finish: func() { h.finish() }, Log: opts.Log, Name: setup.Service,
		Labels: of.labels(), Annotations: of.annotations(),
		ExcludeNamespaces: setup.ExcludeNamespaces, ExcludeKinds: setup.ExcludeKinds,
	})
	if err != nil {
		return nil, err
	}
	return h, errors.Join(h.recorder.Register(registry), registry.Register(h.tracker))
}

// Run tracks and records until the context ends. It then records the changes that are tracked but
// not recorded yet, and after that stores the last checkpoint (edge case 82).
func (h *history) Run(ctx context.Context) error {
	h.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: h.client.CoreV1().Events("")})
	defer h.events.Shutdown()
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	var records errgroup.Group
	records.Go(func() error { return h.recorder.Run(recording) })
	if h.deletions != nil {
		records.Go(func() error { return h.deletions.Run(recording) })
	}
	if h.templates != nil {
		records.Go(func() error { return h.templates.Run(recording) })
	}
	var ended error
	h.finish = func() {
		stop()
		ended = records.Wait()
	}
	err := h.tracker.Run(ctx)
	return errors.Join(err, ended)
}

// lead makes this replica record the changes for which no replica has a hint.
func (h *history) lead() {
	h.recorder.Lead(true)
	if h.deletions != nil {
		h.deletions.Lead(true)
	}
	h.tracker.Lead(true)
}

// Definitions receives the CRDs of the cluster. Its methods are not called concurrently.
type Definitions interface {
	// Set reports a new or changed CRD, reduced to its name, spec.group, status.acceptedNames.kind
	// and four fields of each version: name, served, deprecated and deprecationWarning.
	Set(definition *unstructured.Unstructured)
	Delete(name string)
}

// definitions watches CRDs without retaining their schemas.
type definitions struct {
	cache cache.Cache
	to    Definitions
}

func (d definitions) run(ctx context.Context) error {
	informer, err := d.cache.GetInformer(ctx, definition(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch CRDs: %w", err)
	}
	set := func(object any) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			d.to.Set(u)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, now any) { set(now) },
		DeleteFunc: func(object any) {
			if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				d.to.Delete(name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch CRDs: %w", err)
	}
	<-ctx.Done()
	return nil
}

func definition() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	return u
}

func keepVersions(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	accepted, _, _ := unstructured.NestedString(u.Object, "status", "acceptedNames", "kind")
	field, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "versions")
	all, _ := field.([]any)
	versions := make([]any, 0, len(all))
	for _, v := range all {
		kept := map[string]any{}
		from, _ := v.(map[string]any)
		for _, field := range []string{"name", "served", "deprecated", "deprecationWarning"} {
			if value, ok := from[field]; ok {
				kept[field] = value
			}
		}
		versions = append(versions, kept)
	}
	small := definition()
	small.SetName(u.GetName())
	small.SetUID(u.GetUID())
	small.SetResourceVersion(u.GetResourceVersion())
	small.Object["spec"] = map[string]any{"group": group, "versions": versions}
	small.Object["status"] = map[string]any{"acceptedNames": map[string]any{"kind": accepted}}
	return small, nil
}

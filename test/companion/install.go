package companion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// The release's name and namespace, as in the docs.
const (
	Namespace = "k8sconnect"
	Release   = "k8sconnect"
)

// Options select what to install. The zero value is the chart with its defaults.
type Options struct {
	// Root is the project's folder, with bin/webhook and bin/helm built. Empty means the first
	// parent folder that contains the chart.
	Root string
	// Set contains values of the chart, as for helm's --set.
	Set []string
	// Args are appended to the program's arguments from the chart.
	Args []string
	// Log receives the replicas' output. Nil discards it.
	Log io.Writer
}

// Companion is the chart's release in a cluster, with its replicas.
type Companion struct {
	cluster    *cluster.Cluster
	client     kubernetes.Interface
	options    Options
	args, env  []string
	kubeconfig string
	balancer   *balancer

	mu       sync.Mutex
	replicas []*Replica // all that ever ran
	kept     sync.WaitGroup
	closing  atomic.Bool
}

// Install installs the chart. It starts no replica, so calls of the API server fail.
func Install(ctx context.Context, c *cluster.Cluster, options Options) (_ *Companion, err error) {
	w := &Companion{cluster: c, options: options}
	if w.options.Root == "" {
		if w.options.Root, err = root(); err != nil {
			return nil, err
		}
	}
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := w.Helm(ctx, "install"); err != nil {
		return nil, err
	}
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	return w, w.route(ctx)
}

// Helm runs helm install or upgrade with the options' values.
func (w *Companion) Helm(ctx context.Context, verb string, more ...string) error {
	args := []string{verb, Release, filepath.Join(w.options.Root, "charts/k8sconnect"), "--namespace", Namespace}
	if verb == "install" {
		args = append(args, "--create-namespace")
	}
	for _, value := range w.options.Set {
		args = append(args, "--set", value)
	}
	return w.helm(ctx, append(args, more...)...)
}

// Upgrade switches to the chart and the program in another folder. Running replicas keep their
// program.
func (w *Companion) Upgrade(ctx context.Context, root string) error {
	w.options.Root = root
	if err := w.Helm(ctx, "upgrade"); err != nil {
		return err
	}
	return w.read(ctx)
}

// Rollback returns to the previous release, whose chart and program are in root.
func (w *Companion) Rollback(ctx context.Context, root string) error {
	w.options.Root = root
	if err := w.helm(ctx, "rollback", Release, "--namespace", Namespace); err != nil {
		return err
	}
	return w.read(ctx)
}

// Uninstall removes the release.
func (w *Companion) Uninstall(ctx context.Context) error {
	return w.helm(ctx, "uninstall", Release, "--namespace", Namespace)
}

func (w *Companion) helm(ctx context.Context, args ...string) error {
	home := filepath.Join(w.cluster.Dir, "helm")
	cmd := exec.CommandContext(ctx, filepath.Join(w.options.Root, "bin/helm"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.cluster.KubeconfigPath,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// read reads the program's arguments and identity from the Deployment.
func (w *Companion) read(ctx context.Context) error {
	list, err := w.client.AppsV1().Deployments(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return fmt.Errorf("the chart has %d Deployments", len(list.Items))
	}
	pod := list.Items[0].Spec.Template.Spec
	w.args, w.env = pod.Containers[0].Args, environment(pod.Containers[0])
	account := "system:serviceaccount:" + Namespace + ":" + pod.ServiceAccountName
	w.kubeconfig, err = w.cluster.KubeconfigFor(account, "system:serviceaccounts", "system:serviceaccounts:"+Namespace, "system:authenticated")
	return err
}

// environment returns the container's variables whose values are known without a pod.
func environment(c corev1.Container) []string {
	var env []string
	for _, e := range c.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory" {
			value = strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
		}
		if value != "" {
			env = append(env, e.Name+"="+value)
		}
	}
	return env
}

// route directs the API server's calls of the chart's service to the replicas.
func (w *Companion) route(ctx context.Context) (err error) {
	if w.balancer, err = newBalancer(); err != nil {
		return err
	}
	list, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, configuration := range list.Items {
		for _, hook := range configuration.Webhooks {
			if s := hook.ClientConfig.Service; s != nil && s.Namespace == Namespace {
				return w.cluster.RouteService(s.Namespace, s.Name, w.balancer.address())
			}
		}
	}
	return errors.New("the chart has no webhook configuration")
}

// BePatient raises the webhook's timeout above the chart's: the API server ignores late responses,
// and machines that run tests can be slow.
func (w *Companion) BePatient(ctx context.Context) error {
	configurations := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	is, err := configurations.Get(ctx, Release, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var patch []string
	for i := range is.Webhooks {
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/webhooks/%d/timeoutSeconds","value":20}`, i))
	}
	_, err = configurations.Patch(ctx, Release, types.JSONPatchType, []byte("["+strings.Join(patch, ",")+"]"), metav1.PatchOptions{})
	return err
}

// Silence drops the API server's calls to the webhook, or stops dropping them.
func (w *Companion) Silence(is bool) { w.balancer.silence(is) }

// Close ends all replicas and their balancer.
func (w *Companion) Close() {
	w.closing.Store(true)
	w.mu.Lock()
	for _, r := range w.replicas {
		r.Kill()
	}
	w.mu.Unlock()
	w.kept.Wait()
	for _, r := range w.replicas { // Keep may have started another one.
		r.Kill()
	}
	w.balancer.close()
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "charts/k8sconnect")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("not below the project's folder")
		}
		dir = up
	}
}

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// With the defaults, the controllers would be a minute behind a thousand new objects.
const (
	componentQPS   = 500
	componentBurst = 1000
)

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: %d
  burst: %d
leaderElection:
  leaderElect: false
`

const kwokConfig = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 8
  podsOnNodeSyncParallelism: 8
`

// startComponents starts the programs that the options add to the API server, and waits until each
// works.
func (c *Cluster) startComponents(ctx context.Context) error {
	if !c.options.controllers() {
		return c.awaitObject(ctx, "/api/v1/namespaces/default")
	}
	if err := c.startControllerManager(); err != nil {
		return err
	}
	if err := c.startScheduler(); err != nil {
		return err
	}
	if c.options.Nodes > 0 {
		if err := c.createNodes(ctx); err != nil {
			return err
		}
		if err := c.startKwok(); err != nil {
			return err
		}
		if err := c.awaitNodes(ctx); err != nil {
			return err
		}
	}
	return c.awaitObject(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
}

func (c *Cluster) restartComponents() error {
	for _, old := range c.running() {
		if old.name == etcd || old.name == apiServer {
			continue
		}
		c.forget(old)
		old.kill()
		renewed, err := startProcess(c.Dir, old.name, old.binary, old.args...)
		if err != nil {
			return err
		}
		c.add(renewed)
	}
	return nil
}

func (c *Cluster) awaitObject(ctx context.Context, path string) error {
	return c.poll(ctx, func() bool { return c.client.get(ctx, path, nil) == nil })
}

func (c *Cluster) startControllerManager() error {
	kubeconfig, err := c.KubeconfigFor("system:kube-controller-manager")
	if err != nil {
		return err
	}
	pki := filepath.Join(c.Dir, "pki") + string(filepath.Separator)
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0", // it serves metrics only
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + pki + "service-account.key",
		"--root-ca-file=" + pki + "ca.crt",
		"--cluster-signing-cert-file=" + pki + "ca.crt",
		"--cluster-signing-key-file=" + pki + "ca.key",
		// Nodes must not become unreachable while the API server is held or the machine sleeps, so
		// they need no heartbeat.
		"--node-monitor-grace-period=24h",
		fmt.Sprintf("--kube-api-qps=%d", componentQPS),
		fmt.Sprintf("--kube-api-burst=%d", componentBurst),
	}
	for _, kind := range []string{
		"cron-job", "daemonset", "deployment", "endpoint", "gc", "horizontal-pod-autoscaler",
		"job", "namespace", "replicaset", "resource-quota", "service-endpoint",
		"serviceaccount-token", "statefulset",
	} {
		args = append(args, "--concurrent-"+kind+"-syncs=20")
	}
	manager, err := startProcess(c.Dir, controllerManager, c.Binary(controllerManager), append(args, c.options.ControllerArgs...)...)
	c.add(manager)
	return err
}

func (c *Cluster) startScheduler() error {
	kubeconfig, err := c.KubeconfigFor("system:kube-scheduler")
	if err != nil {
		return err
	}
	config := filepath.Join(c.Dir, "scheduler.yaml")
	content := fmt.Sprintf(schedulerConfig, kubeconfig, componentQPS, componentBurst)
	if err := os.WriteFile(config, []byte(content), 0o644); err != nil {
		return err
	}
	process, err := startProcess(c.Dir, scheduler, c.Binary(scheduler),
		"--config="+config, "--secure-port=0")
	c.add(process)
	return err
}

func (c *Cluster) startKwok() error {
	stages, err := kwokStages(filepath.Join(c.binaries, stagesDir))
	if err != nil {
		return err
	}
	config := filepath.Join(c.Dir, "kwok.yaml")
	if err := os.WriteFile(config, append([]byte(kwokConfig), stages...), 0o644); err != nil {
		return err
	}
	kubeconfig, err := c.KubeconfigFor("kwok", "system:masters")
	if err != nil {
		return err
	}
	process, err := startProcess(c.Dir, kwok, c.Binary(kwok),
		"--config="+config,
		"--kubeconfig="+kubeconfig,
		"--manage-all-nodes",
		// Without leases, because a restarted kwok would wait until those of the previous one
		// expire. See startControllerManager for what that requires.
		"--node-lease-duration-seconds=0",
		"--cidr=10.244.0.0/16", // written into status; no client connects to them
		"--node-ip=10.0.0.1",
	)
	c.add(process)
	return err
}

package e2e_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// corpusSet is a folder of the corpus with the expected responses of a real API server.
type corpusSet struct {
	name string
	// needs are namespaces that the set expects to exist.
	needs []string
	args  []string
	// unreadable are files with bad input; none of their objects is ever sent.
	unreadable map[string]string
	// without are excluded files, each with the reason.
	without map[string]string
	// refused are the objects that no tool can apply, as KIND/NAME, with their number.
	refused map[string]int
	// asked are the objects, as RESOURCE/NAME, that cost a request although they do not change,
	// each with the reason. If one no longer does, the test fails.
	asked map[string]string
	// stays are the objects, as KIND/NAME, that delete leaves behind, each with the reason. If one
	// is deleted, the test fails.
	stays map[string]string
	// open lists steps that fail so far, each with the reason. If one succeeds, the test fails.
	open map[step]string
}

// step is a part of the story of a set.
type step string

const (
	again      step = "again"
	difference step = "diff"
	found      step = "foreign changes are found"
	restored   step = "foreign changes are taken back"
	deleted    step = "delete"
)

var corpusSets = []corpusSet{
	{
		name: "deprecated", needs: []string{"my-namespace", "sandbox"}, refused: deprecatedRefused,
		unreadable: map[string]string{
			"quobyte-admin-secret.yaml":             `:9: duplicate key "type"`,
			"localsubjectaccessreview-v1beta1.yaml": ":3: LocalSubjectAccessReview: .metadata is missing",
			"selfsubjectaccessreview-v1beta1.yaml":  ":3: SelfSubjectAccessReview: .metadata is missing",
			"/subjectaccessreview-v1beta1.yaml":     ":3: SubjectAccessReview: .metadata is missing",
			"tokenreview-v1beta1.yaml":              ":3: TokenReview: .metadata is missing",
			"volumesnapshotcontent-v1beta1.yaml":    ":5: volumesnapshotcontent.snapshot.storage.k8s.io/new-snapshot-content-test: .metadata.annotations is a list",
		},
	},
	{name: "hcloud-csi", refused: map[string]int{"ServiceMonitor/hcloud-csi-controller": 1, "ServiceMonitor/hcloud-csi-node": 1}},
	{name: "flux-2.4.0", refused: map[string]int{
		"MetricTemplate/error-rate": 1, "MetricTemplate/latency": 1, "Gateway/public-gateway": 1,
		"Issuer/linkerd-trust-anchor": 1, "Certificate/linkerd-identity-issuer": 1,
	}},
	{name: "kops-hetzner", refused: map[string]int{"Service/kube-dns": 1}},
	{name: "argocd", needs: []string{"argocd"}, args: []string{"-n", "argocd"}},
	{name: "cert-manager-crds"},
	{name: "cilium-1.18"},
	{name: "gateway-api"},
	{name: "hcloud-ccm"},
	{name: "k8zner-crd"},
	{name: "kube-prometheus"},
	{name: "microservices-demo"},
	{name: "metallb"},
	{name: "rook", refused: rookRefused},
	{
		name: "volcano", needs: []string{"argo"}, refused: volcanoRefused,
		args: []string{"--helm-hooks=apply"}, // a rendered chart, whose hooks create its webhook's certificate
		without: map[string]string{
			"example/deployment/deployment.yaml": "its Deployment takes over the ReplicaSets of other examples, which have its labels",
		},
		unreadable: map[string]string{
			"10-job-step.yaml": ":4: Workflow: generateName without a name", "20-job-DAG.yaml": ":4: Workflow: generateName without a name",
		},
	},
	{
		name: "contour", needs: []string{"example-com", "gatekeeper-system", "www-admin"}, refused: contourRefused,
		stays: map[string]string{"Namespace/default": "the API server keeps it"},
	},
	{name: "ingress-nginx"},
}

// deprecatedRefused are the set's objects that the server refuses: removed kinds and versions,
// other values of immutable fields, fields without a schema. It does not include uids, which only
// kubectl sends and fails for.
var deprecatedRefused = map[string]int{
	"APIService/v1alpha1.wardle.example.com":            1,
	"CSIDriver/fake-csi-driver":                         1,
	"CSINode/my-node":                                   1,
	"CSIStorageCapacity/my-csi-capacity":                1,
	"CertificateSigningRequest/example.com":             1,
	"ClusterRole/pod-reader":                            1,
	"ClusterRoleBinding/read-pods":                      1,
	"CronJob/hello":                                     1,
	"CustomResourceDefinition/certificates.test.k8s.io": 1,
	"Deployment/nginx-deployment-old":                   3,
	"Deployment/utilities":                              1,
	"EndpointSlice/example-abc":                         1,
	"FlowSchema/service-accounts-test":                  3,
	"HorizontalPodAutoscaler/php-apache":                2,
	"Ingress/test-ingress":                              3,
	"IngressClass/external-lb":                          1,
	"Issuer/selfsigned-issuer":                          1,
	"Lease/example":                                     1,
	"MutatingWebhookConfiguration/test":                 1,
	"Pod/nginx":                                         1,
	"Pod/rbd":                                           1,
	"PodDisruptionBudget/xy-pdb":                        1,
	"PodSecurityPolicy/example":                         1,
	"PodSecurityPolicy/privileged":                      1,
	"PodSecurityPolicy/restricted":                      1,
	"PriorityClass/default":                             1,
	"PriorityLevelConfiguration/workload-medium":        3,
	"Role/pod-reader":                                   1,
	"RoleBinding/read-pods":                             1,
	"RuntimeClass/my-class":                             1,
	"Secret/ceph-secret":                                1,
	"StorageClass/slow":                                 5,
	"TokenReview/test-deprecated-TokenReview":           1,
	"ValidatingWebhookConfiguration/test":               1,
	"VolumeAttachment/test":                             1,
	"VolumeSnapshot/new-snapshot-demo":                  1,
	"VolumeSnapshotClass/csi-hostpath-snapclass":        1,
}

var rookRefused = map[string]int{
	"CephCluster/rook-ceph":                                    1,
	"Prometheus/rook-prometheus":                               1,
	"PrometheusRule/prometheus-ceph-rules":                     2,
	"ScaledObject/rgw-scale":                                   1,
	"ServiceMonitor/csi-metrics":                               1,
	"ServiceMonitor/rook-ceph-exporter":                        1,
	"ServiceMonitor/rook-ceph-mgr":                             1,
	"StorageClass/rook-ceph-block":                             2,
	"StorageClass/rook-cephfs":                                 1,
	"VolumeGroupSnapshot/cephfs-groupsnapshot":                 1,
	"VolumeGroupSnapshot/nfs-groupsnapshot":                    1,
	"VolumeGroupSnapshot/rbd-groupsnapshot":                    1,
	"VolumeGroupSnapshotClass/csi-cephfsplugin-groupsnapclass": 1,
	"VolumeGroupSnapshotClass/csi-nfsplugin-groupsnapclass":    1,
	"VolumeGroupSnapshotClass/csi-rbdplugin-groupsnapclass":    1,
	"VolumeSnapshot/cephfs-pvc-snapshot":                       1,
	"VolumeSnapshot/nfs-pvc-snapshot":                          1,
	"VolumeSnapshot/rbd-pvc-snapshot":                          1,
	"VolumeSnapshotClass/csi-cephfsplugin-snapclass":           1,
	"VolumeSnapshotClass/csi-nfsplugin-snapclass":              1,
	"VolumeSnapshotClass/csi-rbdplugin-snapclass":              1,
}

var volcanoRefused = map[string]int{
	"Job/elastic-job":                    1,
	"PodGroup/spark-pi-group":            1,
	"PriorityClass/high-pri":             2,
	"SparkApplication/spark-pi":          1,
	"WorkflowTemplate/volcano-mpi-hello": 1,
}

var contourRefused = map[string]int{
	"Config/config": 1,
	"ConstraintTemplate/httpproxydisableskipverifydownstreamtls":                           1,
	"ConstraintTemplate/httpproxynonempty":                                                 1,
	"ConstraintTemplate/httpproxyretrycountrange":                                          1,
	"ConstraintTemplate/httpproxytimeoutrange":                                             1,
	"ConstraintTemplate/httpproxyuniquefqdn":                                               1,
	"HTTPProxy/lb-request-hash":                                                            1,
	"HTTPProxy/response-timeout":                                                           1,
	"HTTPProxyDisableSkipVerifyDownstreamTLS/httpproxy-disable-skip-verify-downstream-tls": 1,
	"HTTPProxyNonEmpty/httpproxy-non-empty":                                                1,
	"HTTPProxyRetryCountRange/httpproxy-retry-count-range":                                 1,
	"HTTPProxyTimeoutRange/httpproxy-idle-timeout-range":                                   1,
	"HTTPProxyTimeoutRange/httpproxy-response-timeout-range":                               1,
	"HTTPProxyUniqueFQDN/httpproxy-unique-fqdn":                                            1,
}

// Each real set runs on a cluster without its objects. One run applies everything that a real API
// server accepts, and a refused object blocks no other. A second run finds everything unchanged and
// sends nothing, and diff agrees. Diff finds the changes of another client; after they are
// reverted, nothing differs. Delete removes all created objects.
func TestSets(t *testing.T) {
	t.Parallel() // uses its own cluster
	dir, sets := corpus(), corpusSets
	if dir == "" {
		t.Log("no corpus here (CORPUS names its folder): running on the project's own samples")
		dir, sets = "testdata", []corpusSet{{name: "shop"}}
	}
	options := cluster.Options{Controllers: true, AuditLog: "audit.log"}
	c := cluster.ForTest(t, options)
	c.OwnOnly(t)
	nudge(t, c)
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			switch set.name {
			case "shop", "metallb": // Workloads; definitions and what they define, webhooks.
			case "argocd", "gateway-api", "hcloud-ccm", "kube-prometheus", "microservices-demo":
				circle.Full(t)
			default:
				circle.Long(t)
			}
			c := c
			if set.open[deleted] != "" { // leftovers would affect other sets
				c = cluster.ForTest(t, options)
				nudge(t, c)
			}
			folder, err := filepath.Abs(filepath.Join(dir, set.name)) // a link leads to it
			if err != nil {
				t.Fatal(err)
			}
			newStory(t, c, set).report(t, folder)
		})
	}
}

// nudge writes to terminating definitions until the test ends. Right after a kind's storage
// restarts, the API server's list of its objects fails with "storage is (re)initializing", and
// retries at growing intervals, up to five minutes. A write triggers a retry. Seen with Kubernetes
// 1.36.
func nudge(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	kubectl := func(ctx context.Context, args ...string) string {
		out, _ := exec.CommandContext(ctx, c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath)...).Output()
		return string(out)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Second):
			}
			for name := range strings.FieldsSeq(kubectl(ctx, "get", "crd", "-o", "jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}")) {
				kubectl(ctx, "annotate", "--overwrite", "crd", name, "nudged="+strconv.FormatInt(time.Now().UnixNano(), 36))
			}
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
}

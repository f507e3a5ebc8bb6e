package e2e_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// corpusSet is a folder of the corpus and what a real API server says to it.
type corpusSet struct {
	name string
	// needs are namespaces that the set assumes.
	needs []string
	args  []string
	// unreadable are files that are bad input: nothing of theirs is ever sent.
	unreadable map[string]string
	// refused are the objects that no tool can apply, as KIND/NAME, with how many
	// there are of it.
	refused map[string]int
	// alone: the set holds objects that others hold too, with other contents.
	alone bool
}

// corpusSets are in an order in which a set that lacks a definition comes before
// the set that brings it.
var corpusSets = []corpusSet{
	{
		name: "deprecated", needs: []string{"my-namespace", "sandbox"}, refused: deprecatedRefused,
		unreadable: map[string]string{
			"quobyte-admin-secret.yaml":             `:9: duplicate key "type"`,
			"localsubjectaccessreview-v1beta1.yaml": ":3: LocalSubjectAccessReview: .metadata is missing",
			"selfsubjectaccessreview-v1beta1.yaml":  ":3: SelfSubjectAccessReview: .metadata is missing",
			"/subjectaccessreview-v1beta1.yaml":     ":3: SubjectAccessReview: .metadata is missing",
			"tokenreview-v1beta1.yaml":              ":3: TokenReview: .metadata is missing",
			"volumesnapshotcontent-v1beta1.yaml":    ":5: VolumeSnapshotContent/new-snapshot-content-test: .metadata.annotations is a list",
		},
	},
	{name: "hcloud-csi", refused: map[string]int{"ServiceMonitor/hcloud-csi-controller": 1, "ServiceMonitor/hcloud-csi-node": 1}},
	{name: "flux-2.4.0", refused: map[string]int{
		"MetricTemplate/error-rate": 1, "MetricTemplate/latency": 1, "Gateway/public-gateway": 1,
		"Issuer/linkerd-trust-anchor": 1, "Certificate/linkerd-identity-issuer": 1,
	}},
	{name: "kops-hetzner", alone: true, refused: map[string]int{"Service/kube-dns": 1}},
	{name: "argocd", needs: []string{"argocd"}, args: []string{"-n", "argocd"}},
	{name: "cert-manager-crds"},
	{name: "cilium-1.18"},
	{name: "gateway-api"},
	{name: "hcloud-ccm"},
	{name: "k8zner-crd"},
	{name: "kube-prometheus"},
	{name: "microservices-demo"},
}

// deprecatedRefused is what the server refuses of the set: kinds and versions that
// are no more, objects that state an earlier variant's immutable fields otherwise,
// fields that no schema has. Uids, which kubectl sends and fails for, are left out.
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

// Real sets apply in one run, from a cluster that has nothing of them, to what a
// real API server accepts of them at all; again as all unchanged; and differ in
// nothing. Each object that is refused is refused for itself alone.
func TestSets(t *testing.T) {
	dir, sets := corpus(), corpusSets
	if dir == "" {
		t.Log("no corpus here (CORPUS names its folder): running on the project's own samples")
		dir, sets = "testdata", []corpusSet{{name: "shop"}}
	}
	options := cluster.Options{Controllers: true}
	c := cluster.ForTest(t, options)
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			c := c
			if set.alone {
				c = cluster.ForTest(t, options)
			}
			folder, err := filepath.Abs(filepath.Join(dir, set.name)) // It is linked to from elsewhere.
			if err != nil {
				t.Fatal(err)
			}
			set.run(t, c, folder)
		})
	}
}

func (s corpusSet) run(t *testing.T, c *cluster.Cluster, dir string) {
	for _, ns := range s.needs {
		kubectl(t, c, "create", "namespace", ns)
	}
	call := func(verb, folder string) *run {
		args := []string{verb, "-f", folder, "-R", "-o", "json", "--skip-non-objects"}
		if len(s.refused) > 0 {
			// An operator of the set could still bring the kinds that nobody defines; here
			// there is none worth waiting for.
			args = append(args, "--server-timeout=3s")
		}
		return k8sconnect(t, c.KubeconfigPath, append(args, s.args...)...)
	}
	refused := map[string]int{}
	for _, folder := range s.variants(t, c, dir) {
		failed := failures(t, call("apply", folder))
		for name, n := range failed {
			refused[name] += n
		}
		again := call("apply", folder).report(t)
		for _, o := range again.Objects {
			if o.Action != "unchanged" && failed[o.Kind+"/"+o.Name] == 0 {
				t.Errorf("again: %s/%s/%s is %s: %s", o.Kind, o.Namespace, o.Name, o.Action, o.Error.Message)
			}
		}
		if len(failed) == 0 {
			call("diff", folder).ends(t, 0)
		}
	}
	if !maps.Equal(refused, s.refused) {
		t.Errorf("refused:\n%s\nwant:\n%s", list(refused), list(s.refused))
	}
}

// failures returns what was not applied; all else has to be created or unchanged.
func failures(t *testing.T, r *run) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, o := range r.report(t).Objects {
		switch o.Action {
		case "created", "unchanged", "configured":
		default:
			out[o.Kind+"/"+o.Name]++
			t.Logf("%s %s/%s/%s: %.300s", o.Action, o.Kind, o.Namespace, o.Name, o.Error.Message)
		}
	}
	return out
}

func list(counts map[string]int) string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%q: %d,", name, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// variants makes folders of the files of a set such that no object is in one of
// them twice, which is an error: examples and flavours of one thing are applied
// one after the other. Files that are bad input are an error of their own.
func (s corpusSet) variants(t *testing.T, c *cluster.Cluster, dir string) []string {
	t.Helper()
	var folders []string
	var taken []map[object.Key]bool
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		for end, says := range s.unreadable {
			if strings.HasSuffix(path, end) {
				k8sconnect(t, c.KubeconfigPath, "apply", "-f", path).ends(t, 2).says(t, path+says)
				return nil
			}
		}
		var m manifests
		m.read(path)
		keys := keysOf(m.objects)
		i := slices.IndexFunc(taken, func(t map[object.Key]bool) bool { return !overlap(t, keys) })
		if i < 0 {
			i = len(taken)
			taken, folders = append(taken, map[object.Key]bool{}), append(folders, t.TempDir())
		}
		maps.Copy(taken[i], keys)
		name := strings.ReplaceAll(strings.TrimPrefix(path, dir), string(filepath.Separator), "_")
		return os.Symlink(path, filepath.Join(folders[i], strings.TrimPrefix(name, "_")))
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func keysOf(objects []*unstructured.Unstructured) map[object.Key]bool {
	keys := map[object.Key]bool{}
	for _, u := range objects {
		key := object.RefOf(u).Key()
		key.Namespace = cmp.Or(key.Namespace, "default")
		keys[key] = true
	}
	return keys
}

func overlap(a, b map[object.Key]bool) bool {
	for key := range b {
		if a[key] {
			return true
		}
	}
	return false
}

// Package deprecation_test compares package deprecation with the deprecation warnings of a real API
// server.
package deprecation_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// server is an API server, and the release of the APIs that it serves.
type server struct {
	url       string
	http      *http.Client
	discovery *discovery.DiscoveryClient
	release   deprecation.Release
}

// shared is the cluster of the tests that need no particular release.
var shared cluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// start returns the shared server, or a new one with other arguments.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	var c *cluster.Cluster
	if len(args) == 0 {
		c = shared.Cluster(t)
	} else {
		c = cluster.ForTest(t, cluster.Options{APIServerArgs: args})
	}
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: config.Host}
	if s.http, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	if s.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		t.Fatal(err)
	}
	info, err := s.discovery.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if s.release, err = deprecation.Server(*info); err != nil {
		t.Fatal(err)
	}
	return s
}

// do sends a request, and returns the response's warnings and body.
func (s *server) do(t *testing.T, method, path string, body []byte) ([]string, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	req.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusTooManyRequests { // a new definition's storage is not ready yet
		time.Sleep(100 * time.Millisecond)
		return s.do(t, method, path, body)
	}
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %v\n%s", method, path, resp.Status, err, answer)
	}
	headers, errs := utilnet.ParseWarningHeaders(resp.Header["Warning"])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var warnings []string
	for _, h := range headers {
		warnings = append(warnings, h.Text)
	}
	return warnings, answer
}

// For every version of every kind that an API server can serve, it warns about the same versions,
// with the same releases.
func TestBuiltin(t *testing.T) {
	for name, tt := range map[string]struct {
		args    []string
		release string
	}{
		"its own release":  {[]string{"--runtime-config=api/all=true"}, ""},
		"an older release": {[]string{"--runtime-config=api/all=true", "--emulated-version=1.34"}, "1.34"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.release == "" { // the older one has more deprecated versions
				circle.Full(t)
			}
			s := start(t, tt.args...)
			if tt.release != "" && s.release.String() != tt.release {
				t.Fatalf("the server has release %s, want the emulated release %s", s.release, tt.release)
			}
			_, groups, err := s.discovery.ServerGroupsAndResources()
			if err != nil {
				t.Fatal(err)
			}
			checked, deprecated := 0, 0
			for _, list := range groups {
				for _, r := range list.APIResources {
					if !strings.Contains(strings.Join(r.Verbs, " "), "list") {
						continue
					}
					checked++
					if s.compare(t, list.GroupVersion, r) {
						deprecated++
					}
				}
			}
			t.Logf("%s: %d kinds, %d deprecated", s.release, checked, deprecated)
			if checked < 60 || deprecated < 5 {
				t.Error("too few kinds or deprecations: the test proves nothing")
			}
		})
	}
}

// compare lists a kind, and reports whether it is deprecated.
func (s *server) compare(t *testing.T, groupVersion string, r metav1.APIResource) bool {
	t.Helper()
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		t.Fatal(err)
	}
	kind := gv.WithKind(r.Kind)
	path := "/apis/" + groupVersion + "/" + r.Name
	if gv.Group == "" {
		path = "/api/" + groupVersion + "/" + r.Name
	}
	warnings, _ := s.do(t, http.MethodGet, path+"?limit=1", nil)
	n, reported := deprecation.Check(kind, s.release)
	if !reported {
		if s.isDue(t, warnings) {
			t.Errorf("%s: the server: %q; the table has nothing", kind, warnings)
		}
		return false
	}
	want := fmt.Sprintf("%s %s is deprecated in v%s+", gv, r.Kind, n.Since)
	if !n.Removed.IsZero() {
		want += fmt.Sprintf(", unavailable in v%s+", n.Removed)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0]+";", want+";") {
		t.Errorf("%s: the server: %q; the table: %s", kind, warnings, want)
	}
	if n.Use.Empty() {
		return true
	}
	// The advised version exists, and the server does not warn about it.
	lists, err := s.discovery.ServerResourcesForGroupVersion(n.Use.GroupVersion().String())
	if err != nil {
		t.Errorf("%s: use %s: %v", kind, n.Use, err)
		return true
	}
	for _, other := range lists.APIResources {
		if other.Kind == n.Use.Kind {
			return true
		}
	}
	t.Errorf("%s: use %s, which is not served", kind, n.Use)
	return true
}

// isDue reports whether a warning names a release that the server has reached. A server that
// emulates an older release also warns about its own release's deprecations.
func (s *server) isDue(t *testing.T, warnings []string) bool {
	t.Helper()
	if len(warnings) == 0 {
		return false
	}
	m := regexp.MustCompile(`deprecated in v(1\.\d+)`).FindStringSubmatch(warnings[0])
	if m == nil {
		return true
	}
	since, err := deprecation.ParseRelease(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return since.Compare(s.release) <= 0
}

// For objects with the API server's defaults: each field about which the server warns has a notice
// with the same releases.
func TestFields(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct {
		path, object string
		// alone is the number of notices about which the server does not warn.
		alone int
	}{
		"Deployment": {"/apis/apps/v1/namespaces/default/deployments", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        container.apparmor.security.beta.kubernetes.io/app: runtime/default
        container.seccomp.security.alpha.kubernetes.io/app: runtime/default
        seccomp.security.alpha.kubernetes.io/pod: runtime/default
        scheduler.alpha.kubernetes.io/critical-pod: ""
        security.alpha.kubernetes.io/sysctls: a=b
    spec:
      serviceAccount: default
      nodeSelector: {beta.kubernetes.io/os: linux, node-role.kubernetes.io/master: ""}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: failure-domain.beta.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}]
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: failure-domain.beta.kubernetes.io/zone, labelSelector: {}}]
      containers: [{name: app, image: "app:1", lifecycle: {preStop: {tcpSocket: {port: 80}}}}]
      volumes:
      - {name: a, awsElasticBlockStore: {volumeID: v}}
      - {name: b, cephfs: {monitors: [m]}}
      - {name: c, gitRepo: {repository: r}}
      - {name: d, photonPersistentDisk: {pdID: x}}
      - {name: e, storageos: {volumeName: x}}
      - {name: f, rbd: {monitors: [m], image: i}}
      - {name: g, glusterfs: {endpoints: e, path: p}}
      - {name: h, quobyte: {registry: "r:1", volume: v}}
      - {name: i, flocker: {datasetName: d}}
      - {name: j, scaleIO: {gateway: g, system: s, secretRef: {name: s}, volumeName: v}}
      - {name: k, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {volume.beta.kubernetes.io/storage-class: x}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
`, 4}, // the disk, the claim's annotation, the hook, the anti-affinity
		"PodTemplate with all the new names": {"/api/v1/namespaces/default/podtemplates", `
apiVersion: v1
kind: PodTemplate
metadata: {name: new}
template:
  metadata: {labels: {app: new}}
  spec:
    serviceAccountName: default
    securityContext: {seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: RuntimeDefault}}
    nodeSelector: {kubernetes.io/os: linux}
    containers: [{name: app, image: "app:1"}]
`, 0},
		"Service": {"/api/v1/namespaces/default/services", `
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {service.kubernetes.io/topology-aware-hints: Auto}}
spec: {type: LoadBalancer, loadBalancerIP: 192.0.2.7, externalIPs: [192.0.2.9], trafficDistribution: PreferClose, ports: [{port: 80}]}
`, 1}, // its address
		"PersistentVolume": {"/api/v1/persistentvolumes", `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv, annotations: {volume.beta.kubernetes.io/storage-class: x, volume.beta.kubernetes.io/mount-options: ro}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Recycle
  cephfs: {monitors: [m]}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: Exists}]}]}}
`, 0},
		"PersistentVolumeClaim": {"/api/v1/namespaces/default/persistentvolumeclaims", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, annotations: {volume.beta.kubernetes.io/storage-class: x}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, 0},
		"ServiceAccount": {"/api/v1/namespaces/default/serviceaccounts", `
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa, annotations: {kubernetes.io/enforce-mountable-secrets: "true"}}
`, 0},
		"Ingress": {"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: in, annotations: {kubernetes.io/ingress.class: nginx}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
`, 0},
		"StorageClass": {"/apis/storage.k8s.io/v1/storageclasses", `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/fast
allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/region, values: [r]}]}]
`, 0},
		"RuntimeClass": {"/apis/node.k8s.io/v1/runtimeclasses", `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: rc}
handler: h
scheduling: {nodeSelector: {beta.kubernetes.io/instance-type: large}}
`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, answer := s.do(t, http.MethodPost, tt.path, []byte(tt.object))
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(answer, &u.Object); err != nil {
				t.Fatal(err)
			}
			var lines []string
			alone := 0
			for _, n := range deprecation.Fields(u, s.release) {
				lines = append(lines, n.String())
				if !n.ServerWarns {
					alone++
				}
			}
			ours, theirs := strings.Join(lines, "\n"), strings.Join(warnings, "\n")
			if len(lines) != len(warnings)+tt.alone || alone != tt.alone {
				t.Errorf("%d notices, %d of them without a warning of the server; want %d warnings and %d notices without one:\n%s\n\n%s", len(lines), alone, len(warnings), tt.alone, ours, theirs)
			}
			for _, m := range regexp.MustCompile(`\bv(1\.\d+)`).FindAllStringSubmatch(theirs, -1) {
				if !regexp.MustCompile(`since ` + regexp.QuoteMeta(m[1]) + `\b`).MatchString(ours) {
					t.Errorf("no notice has the release %s of the server's warning:\n%s\n\n%s", m[1], theirs, ours)
				}
			}
		})
	}
}

package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A manifest that was not read from a cluster keeps its fields, whatever else of a server it contains.
func TestOnlyCopiesLoseBoundFields(t *testing.T) {
	for metadata, want := range map[string]bool{
		"uid: x": false, "resourceVersion: \"7\"": false,
		"resourceVersion: \"0\"": true, "resourceVersion: \"\"": true, "generation: 1": true, "creationTimestamp: 2026-01-01T00:00:00Z": true,
		"annotations: {kubectl.kubernetes.io/last-applied-configuration: \"{}\"}": true, "selfLink: /api": true, "managedFields: []": true,
	} {
		text := "apiVersion: v1\nkind: Service\nmetadata:\n  name: kube-dns\n  " + metadata + "\nspec:\n  clusterIP: 100.64.0.10\n"
		read, err := Read(t.Context(), Options{Filenames: []string{"-"}, In: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		spec := read.Objects[0].Object.Object["spec"]
		if kept := spec != nil && spec.(map[string]any)["clusterIP"] == "100.64.0.10"; kept != want {
			t.Errorf("%s: the address is kept: %t, want %t", metadata, kept, want)
		}
	}
}

// Edge case 23: each object is a copy from a cluster. The lines marked with # bound must be left
// out, with their line. The result is parsed from the text without those lines, by another parser.
func TestBoundFields(t *testing.T) {
	shown := map[string]bool{}
	for name, tt := range map[string]struct {
		text  string
		names string
	}{
		"owners of any kind": {
			text: `
apiVersion: min.example/v1
kind: Plain
metadata:
  name: a
  uid: x # server
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u}] # bound
`,
			names: "metadata.ownerReferences",
		},
		"claim": {
			text: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: a
  uid: x # server
  annotations:
    mine: "1"
    pv.kubernetes.io/bind-completed: "yes" # bound
    pv.kubernetes.io/bound-by-controller: "yes" # bound
    volume.kubernetes.io/selected-node: node # bound
    volume.beta.kubernetes.io/storage-provisioner: p # bound
    volume.kubernetes.io/storage-provisioner: p # bound
    volume.kubernetes.io/storage-resizer: p # bound
spec:
  storageClassName: s
  volumeName: pv # bound
`,
			names: `spec.volumeName metadata.annotations["pv.kubernetes.io/bind-completed"] ` +
				`metadata.annotations["pv.kubernetes.io/bound-by-controller"] metadata.annotations["volume.kubernetes.io/selected-node"] ` +
				`metadata.annotations["volume.beta.kubernetes.io/storage-provisioner"] ` +
				`metadata.annotations["volume.kubernetes.io/storage-provisioner"] metadata.annotations["volume.kubernetes.io/storage-resizer"]`,
		},
		"volume: the reservation stays": {
			text: `
apiVersion: v1
kind: PersistentVolume
metadata:
  name: a
  uid: x # server
  annotations: # bound
    pv.kubernetes.io/bound-by-controller: "yes" # bound
spec:
  claimRef:
    name: c
    namespace: n
    uid: u # bound
    resourceVersion: "1" # bound
`,
			names: `spec.claimRef.uid spec.claimRef.resourceVersion metadata.annotations["pv.kubernetes.io/bound-by-controller"]`,
		},
		"snapshot content": {
			text: `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata:
  name: a
  uid: x # server
spec:
  volumeSnapshotRef:
    name: c
    uid: u # bound
    resourceVersion: "1" # bound
`,
			names: "spec.volumeSnapshotRef.uid spec.volumeSnapshotRef.resourceVersion",
		},
		"job": {
			text: `
apiVersion: batch/v1
kind: Job
metadata:
  name: a
  uid: x # server
  annotations:
    mine: "1"
    batch.kubernetes.io/job-tracking: "" # bound
    batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-01-01T00:00:00Z" # bound
  labels: # bound
    controller-uid: u # bound
    batch.kubernetes.io/controller-uid: u # bound
    job-name: a # bound
    batch.kubernetes.io/job-name: a # bound
spec:
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}} # bound
  template:
    metadata:
      labels:
        app: x
        controller-uid: u # bound
        batch.kubernetes.io/controller-uid: u # bound
        job-name: a # bound
        batch.kubernetes.io/job-name: a # bound
`,
		},
		"job with a selector of its author": {
			text: `
apiVersion: batch/v1
kind: Job
metadata:
  name: a
  uid: x # server
spec:
  manualSelector: true
  selector: {matchLabels: {job-name: a}}
  template: {metadata: {labels: {job-name: a}}}
`,
		},
		"service": {
			text: `
apiVersion: v1
kind: Service
metadata:
  name: a
  uid: x # server
spec:
  clusterIP: 10.0.0.1 # bound
  clusterIPs: [10.0.0.1] # bound
  healthCheckNodePort: 31000 # bound
  ports:
  - port: 80
    nodePort: 30000 # bound
  - port: 81
    nodePort: 30001 # bound
`,
			names: "spec.clusterIP spec.clusterIPs spec.ports[1].nodePort spec.ports[0].nodePort spec.healthCheckNodePort",
		},
		"headless service": {
			text: `
apiVersion: v1
kind: Service
metadata:
  name: a
  uid: x # server
spec:
  clusterIP: None
  clusterIPs: [None]
`,
		},
		"pod": {
			text: `
apiVersion: v1
kind: Pod
metadata:
  name: a
  uid: x # server
  annotations:
    mine: "1"
    kubernetes.io/limit-ranger: set # bound
    cni.projectcalico.org/containerID: c # bound
    cni.projectcalico.org/podIP: 10.0.0.1/32 # bound
    cni.projectcalico.org/podIPs: 10.0.0.1/32 # bound
    k8s.v1.cni.cncf.io/network-status: "[]" # bound
  labels:
    app: x
    pod-template-hash: h # bound
    controller-revision-hash: h # bound
    pod-template-generation: "1" # bound
    statefulset.kubernetes.io/pod-name: a # bound
    apps.kubernetes.io/pod-index: "0" # bound
    controller-uid: u # bound
    batch.kubernetes.io/controller-uid: u # bound
    job-name: a # bound
    batch.kubernetes.io/job-name: a # bound
spec:
  nodeName: n # bound
  ephemeralContainers: [{name: d, image: d}] # bound
  containers:
  - name: m
    volumeMounts: # bound
    - {name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount} # bound
  - name: n
    volumeMounts:
    - {name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount} # bound
    - {name: data, mountPath: /data}
  initContainers:
  - name: i
    volumeMounts: # bound
    - {name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount} # bound
  volumes:
  - {name: data, emptyDir: {}}
  - {name: kube-api-access-x, projected: {}} # bound
`,
		},
		"token secret": {
			text: `
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: a
  uid: x # server
  annotations:
    kubernetes.io/service-account.name: s
    kubernetes.io/service-account.uid: u # bound
data:
  mine: YQ==
  token: YQ== # bound
  ca.crt: YQ== # bound
  namespace: YQ== # bound
`,
			names: `data.token data["ca.crt"] data.namespace metadata.annotations["kubernetes.io/service-account.uid"]`,
		},
		"token secret with nothing else": {
			text: `
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: a
  uid: x # server
data: # bound
  token: YQ== # bound
`,
			names: "data.token",
		},
		"other secret": {
			text: "\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  uid: x # server\ndata: {token: YQ==}\n",
		},
		"endpoints": {
			text: `
apiVersion: v1
kind: Endpoints
metadata:
  name: a
  uid: x # server
  annotations: {endpoints.kubernetes.io/last-change-trigger-time: "2026-01-01T00:00:00Z"} # bound
`,
			names: `metadata.annotations["endpoints.kubernetes.io/last-change-trigger-time"]`,
		},
		"autoscaler": {
			text: `
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: a
  uid: x # server
  annotations:
    mine: "1"
    autoscaling.alpha.kubernetes.io/conditions: "[]" # bound
    autoscaling.alpha.kubernetes.io/current-metrics: "[]" # bound
`,
		},
		"namespace": {
			text: "\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  uid: x # server\n  labels:\n    mine: a\n    kubernetes.io/metadata.name: b # bound\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var kept, whole, lines []string
			for i, line := range strings.Split(tt.text, "\n") {
				switch {
				case strings.HasSuffix(line, "# server"):
					continue
				case !strings.HasSuffix(line, "# bound"):
					kept = append(kept, line)
				case !strings.HasSuffix(line, ": # bound"):
					lines = append(lines, "in:"+string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10)))
				}
				whole = append(whole, line)
			}
			for _, row := range boundFields() {
				key := row.kind.String() + strings.Join(row.path, ".")
				has := len(lines) > 0 && len(matching(decoded(t, whole), row.path, nil)) > 0
				shown[key] = shown[key] || has && strings.Contains(tt.text, "kind: "+row.kind.Kind)
			}
			write(t, map[string]string{"in": tt.text})
			res, err := Read(t.Context(), Options{Filenames: []string{"in"}})
			if err != nil {
				t.Fatal(err)
			}
			got := res.Objects[0]
			if diff := cmp.Diff(decoded(t, kept), got.Object.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if len(lines) == 0 {
				if got.Origin != nil {
					t.Errorf("origin: %+v", got.Origin)
				}
				return
			}
			if diff := cmp.Diff(decoded(t, whole), got.Origin.Object); diff != "" || got.Origin.UID != "x" {
				t.Errorf("origin %s (-want +got):\n%s", got.Origin.UID, diff)
			}
			var names, places []string
			for _, f := range got.Origin.Bound {
				names = append(names, f.Name)
				if place := f.Source.String(); !slices.Contains(places, place) {
					places = append(places, strings.Replace(place, "in:", "in:"+strings.Repeat("0", max(0, 5-len(place))), 1))
				}
			}
			slices.Sort(places)
			if diff := cmp.Diff(lines, slices.Compact(places)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			slices.Sort(names)
			want := strings.Fields(tt.names)
			slices.Sort(want)
			if tt.names != "" && !slices.Equal(names, want) {
				t.Errorf("names %v, want %v", names, want)
			}
			write(t, map[string]string{"mine": strings.Join(whole, "\n")})
			mine, err := Read(t.Context(), Options{Filenames: []string{"mine"}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, whole), mine.Objects[0].Object.Object); diff != "" || mine.Objects[0].Origin != nil {
				t.Errorf("not a copy (-want +got):\n%s", diff)
			}
		})
	}
	for _, row := range boundFields() {
		if !shown[row.kind.String()+strings.Join(row.path, ".")] {
			t.Errorf("no example of %s %v", row.kind, row.path)
		}
	}
}

func decoded(t *testing.T, lines []string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return numbers(out).(map[string]any)
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		return int64(v)
	}
	return v
}

package preflight_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// forecast is a set of manifests, a cluster, and the remarks that are expected about the set.
type forecast struct {
	// set and cluster are YAML documents. An object that is the same in both is unchanged.
	set, cluster string
	// unread are the kinds that we may not read.
	unread []string
	// unasked is set if Foresee gets no reader.
	unasked bool
	// prunes is set if the run prunes: it deletes objects that are no longer part of the set.
	prunes bool
	// want are the expected remarks, each as "Code object path".
	want []string
	// says is a text that the first remark must contain.
	says string
}

func (f forecast) foresee(t *testing.T) ([]event.Remarked, *diagnosetest.Memory) {
	t.Helper()
	m := &diagnosetest.Memory{Answers: diagnosetest.Answers{Failing: map[string]error{}}}
	if f.cluster != "" {
		m.Objects = diagnosetest.Read(t, f.cluster)
	}
	for _, kind := range f.unread {
		m.Failing[kind] = diagnosetest.Forbidden(kind)
	}
	var reader diagnose.Reader = m
	if f.unasked {
		reader = nil
	}
	return preflight.Foresee(t.Context(), reader, preflight.Set{Objects: changesOf(diagnosetest.Read(t, f.set), m.Objects), Prunes: f.prunes}), m
}

// changesOf compares the objects of a set with those that exist.
func changesOf(set, live []*unstructured.Unstructured) []preflight.Object {
	var objects []preflight.Object
	for _, u := range set {
		o := preflight.Object{Ref: object.RefOf(u), After: u, Changes: true}
		for _, there := range live {
			if object.RefOf(there) == o.Ref {
				status := there.Object["status"]
				same := there.DeepCopy()
				delete(same.Object, "status")
				o.Before, o.Changes = there, !reflect.DeepEqual(same.Object, u.Object)
				if status != nil && o.Changes {
					o.After = u.DeepCopy() // As the server answers: with the status that is there.
					o.After.Object["status"] = status
				}
			}
		}
		objects = append(objects, o)
	}
	return objects
}

func (f forecast) run(t *testing.T) {
	t.Helper()
	remarks, _ := f.foresee(t)
	var got []string
	for _, r := range remarks {
		got = append(got, strings.TrimSpace(r.Code+" "+r.Ref.String()+" "+r.Path))
		if strings.ContainsAny(r.Text+r.Hint, "\n\r\x1b") || r.Text == "" || r.Hint == "" {
			t.Errorf("remark has several lines, or no text or hint: %+v", r)
		}
	}
	if diff := cmp.Diff(f.want, got); diff != "" {
		t.Fatalf("remarks (-want +got):\n%s%v", diff, remarks)
	}
	if len(remarks) > 0 && !strings.Contains(remarks[0].Text+" / "+remarks[0].Hint, f.says) {
		t.Errorf("got text %q and hint %q, want them to contain %q", remarks[0].Text, remarks[0].Hint, f.says)
	}
}

func forecasts(t *testing.T, all map[string]forecast) {
	t.Helper()
	for name, f := range all {
		t.Run(name, func(t *testing.T) { f.run(t) })
	}
}

// web returns a Deployment with the given fields in the spec of its Pods.
func web(spec string) string { return workload("Deployment", "web", 1, spec) }

func workload(kind, name string, replicas int, spec string) string {
	return strings.NewReplacer("KIND", kind, "NAME", name, "REPLICAS", string(rune('0'+replicas)), "SPEC", spec).Replace(
		`{apiVersion: apps/v1, kind: KIND, metadata: {name: NAME, namespace: prod}, spec: {replicas: REPLICAS,
  selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {SPEC}}}}`)
}

const namedOfSpec = ".spec.template.spec"

func TestReferences(t *testing.T) {
	secretEnv := `containers: [{name: app, image: a, env: [{name: KEY, valueFrom: {secretKeyRef: {name: keys, key: token}}}]}]`
	configEnv := `containers: [{name: app, image: a, envFrom: [{configMapRef: {name: settings}}]}]`
	keyed := `containers: [{name: app, image: a, env: [{name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]}]`
	const keys = `{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: prod}, data: {token: eA==}}`
	const lacking = `{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: prod}, data: {tokens: eA==}}`
	secretMissing := []string{`SecretMissing deployment.apps/web -n prod ` + namedOfSpec + `.containers[name="app"].env[name="KEY"].valueFrom.secretKeyRef`}
	keyMissing := []string{strings.Replace(secretMissing[0], "SecretMissing", "SecretKeyMissing", 1)}
	forecasts(t, map[string]forecast{
		"a missing Secret":                              {set: web(secretEnv), want: secretMissing, says: "Secret keys does not exist, and nothing in this set creates it"},
		"an existing Secret":                            {set: web(secretEnv), cluster: keys},
		"a Secret in the set":                           {set: keys + "\n---\n" + web(secretEnv)},
		"in another namespace":                          {set: web(secretEnv), cluster: strings.Replace(keys, "prod", "test", 1), want: secretMissing},
		"a Secret that may not be read":                 {set: web(secretEnv), unread: []string{"Secret"}},
		"without a reader":                              {set: web(secretEnv), unasked: true},
		"optional":                                      {set: web(strings.Replace(secretEnv, "key: token", "key: token, optional: true", 1))},
		"without the key":                               {set: web(secretEnv), cluster: lacking, want: keyMissing, says: "did you mean tokens?"},
		"in the set, without the key, without a reader": {set: lacking + "\n---\n" + web(secretEnv), unasked: true, want: keyMissing},
		"empty, to be filled later":                     {set: web(secretEnv), cluster: strings.Replace(keys, ", data: {token: eA==}", "", 1)},
		"in the set, but empty":                         {set: strings.Replace(keys, ", data: {token: eA==}", "", 1) + "\n---\n" + web(secretEnv)},
		"made by a controller, which may add keys":      {set: web(secretEnv), cluster: strings.Replace(lacking, "name: keys", "name: keys, ownerReferences: [{apiVersion: a/v1, kind: K, name: k, uid: u}]", 1)},
		"nothing changes":                               {set: web(secretEnv), cluster: web(secretEnv)},
		"the Pods do not change":                        {set: web(secretEnv), cluster: strings.Replace(web(secretEnv), "replicas: 1", "replicas: 2", 1)},
		"a Certificate creates it":                      {set: web(secretEnv) + "\n---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: prod}, spec: {secretName: keys}}"},
		"an operator names it after its object":         {set: web(strings.ReplaceAll(secretEnv, "name: keys", "name: pg-app")) + "\n---\n{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg, namespace: prod}}"},
		"an Ingress requests it":                        {set: web(secretEnv) + "\n---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: prod}, spec: {tls: [{secretName: keys}]}}"},
		"a Job creates it":                              {set: web(secretEnv) + "\n---\n{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: prod}, spec: {template: {spec: {containers: [{name: c, image: a, args: [--secret-name=keys]}]}}}}"},
		"an annotation requests it":                     {set: web(secretEnv) + "\n---\n{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod, annotations: {serving-cert: keys}}, spec: {}}"},
		"a Role names it":                               {set: web(secretEnv) + "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: prod}, rules: [{apiGroups: [''], resources: [secrets], resourceNames: [keys], verbs: [update]}]}"},
		"a program may create Secrets":                  {set: web(secretEnv) + "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: prod}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get, create]}]}"},
		"a program may read Secrets":                    {set: web(secretEnv) + "\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: prod}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}", want: secretMissing},
		"a custom resource that names something else":   {set: web(secretEnv) + "\n---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: prod}, spec: {secretName: keys-tls}}", want: secretMissing},
		"a second Deployment needs it too": {
			set: web(secretEnv) + "\n---\n" + workload("Deployment", "api", 1, secretEnv), want: secretMissing, says: "1 more object in this set needs it",
		},
		"a ConfigMap as environment": {set: web(configEnv), want: []string{"ConfigMapMissing deployment.apps/web -n prod " + namedOfSpec + `.containers[name="app"].envFrom`}},
		"a key of a ConfigMap": {
			set: web(keyed), cluster: `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: prod}, data: {node: x}}`,
			want: []string{"ConfigMapKeyMissing deployment.apps/web -n prod " + namedOfSpec + `.containers[name="app"].env[name="MODE"].valueFrom.configMapKeyRef`},
		},
		"a key of binary data":                 {set: web(keyed), cluster: `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: prod}, binaryData: {mode: eA==}}`},
		"a ConfigMap that every namespace has": {set: web(`containers: [{name: app, image: a}], volumes: [{name: ca, configMap: {name: kube-root-ca.crt}}]`)},
		"volumes": {
			set: web(`containers: [{name: app, image: a}], volumes: [{name: a, secret: {secretName: one}}, {name: b, projected: {sources: [{configMap: {name: two}}, {secret: {name: three, optional: true}}]}}, {name: c, persistentVolumeClaim: {claimName: four}}]`),
			want: []string{
				"SecretMissing deployment.apps/web -n prod " + namedOfSpec + `.volumes[name="a"].secret`,
				"ConfigMapMissing deployment.apps/web -n prod " + namedOfSpec + `.volumes[name="b"].projected.sources`,
				"ClaimMissing deployment.apps/web -n prod " + namedOfSpec + `.volumes[name="c"].persistentVolumeClaim`,
			},
		},
		"a volume uses one key": {
			set: web(`containers: [{name: app, image: a}], volumes: [{name: a, secret: {secretName: keys, items: [{key: ca.crt, path: ca}]}}]`), cluster: keys,
			want: []string{"SecretKeyMissing deployment.apps/web -n prod " + namedOfSpec + `.volumes[name="a"].secret`},
		},
		"a CronJob": {
			set:  `{apiVersion: batch/v1, kind: CronJob, metadata: {name: night, namespace: prod}, spec: {jobTemplate: {spec: {template: {spec: {` + secretEnv + `}}}}}}`,
			want: []string{`SecretMissing cronjob.batch/night -n prod .spec.jobTemplate.spec.template.spec.containers[name="app"].env[name="KEY"].valueFrom.secretKeyRef`},
		},
		"an account":                   {set: web("serviceAccountName: robot, containers: []"), want: []string{"ServiceAccountMissing deployment.apps/web -n prod " + namedOfSpec + ".serviceAccountName"}},
		"a service account in the set": {set: web("serviceAccountName: robot, containers: []") + "\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: prod}}"},
		"credentials for a registry": {
			set:  web("imagePullSecrets: [{name: reg}], containers: [{name: app, image: registry.example/app:1}]"),
			want: []string{"PullSecretMissing deployment.apps/web -n prod " + namedOfSpec + ".imagePullSecrets"},
		},
		"one of two pull secrets exists": {set: web("imagePullSecrets: [{name: reg}, {name: keys}], containers: [{name: app, image: registry.example/app:1}]"), cluster: keys},
		"a public registry":              {set: web("imagePullSecrets: [{name: reg}], containers: [{name: app, image: ghcr.io/app:1}, {name: b, image: nginx}]")},
		"the service account has pull secrets": {
			set:     web("imagePullSecrets: [{name: reg}], containers: [{name: app, image: registry.example/app:1}]"),
			cluster: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: prod}, imagePullSecrets: [{name: x}]}`,
		},
	})
}

func TestVariables(t *testing.T) {
	reported := func(at string) []string {
		return []string{"VariableUndefined deployment.apps/web -n prod " + namedOfSpec + at}
	}
	app := func(rest string) string { return web(`containers: [{name: app, image: a, ` + rest + `}]`) }
	forecasts(t, map[string]forecast{
		"an argument":                           {set: app(`args: [--name=$(POD_NAME)]`), unasked: true, want: reported(`.containers[name="app"].args`), says: "{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}"},
		"a command":                             {set: app(`command: [run, $(REGION)]`), want: reported(`.containers[name="app"].command`), says: "define REGION"},
		"the value of another variable":         {set: app(`env: [{name: URL, value: 'http://$(POD_IP):80'}]`), want: reported(`.containers[name="app"].env[name="URL"].value`)},
		"an init container":                     {set: web(`initContainers: [{name: i, image: a, args: [$(NODE_NAME)]}], containers: []`), want: reported(`.initContainers[name="i"].args`)},
		"a defined variable":                    {set: app(`args: [$(POD_NAME)], env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`)},
		"defined in another container":          {set: web(`containers: [{name: a, image: a, env: [{name: REGION, value: x}]}, {name: b, image: a, args: [$(REGION)]}]`), want: reported(`.containers[name="b"].args`)},
		"an escaped reference":                  {set: app(`args: [$$(POD_NAME)]`)},
		"shell command substitution":            {set: app(`command: [sh, -c, 'echo $(date) $(hostname -f)']`)},
		"a script":                              {set: app(`command: [sh, -c, "make \\\n  X=$(CURDIR)"]`)},
		"possibly defined by envFrom":           {set: app(`args: [$(MODE)], envFrom: [{configMapRef: {name: c, optional: true}}]`)},
		"variables of a Service":                {set: app(`args: [$(DB_SERVICE_HOST), $(DB_PORT), $(KUBERNETES_SERVICE_PORT), $(DB_PORT_5432_TCP_ADDR)]`)},
		"repeated references are reported once": {set: app(`args: [$(POD_NAME), $(POD_NAME)]`), want: reported(`.containers[name="app"].args`)},
		"unchanged":                             {set: strings.Replace(app(`args: [$(POD_NAME)]`), "replicas: 1", "replicas: 2", 1), cluster: app(`args: [$(POD_NAME)]`)},
	})
}

func TestVolumes(t *testing.T) {
	db := func(image, more string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: db, namespace: prod}, spec: {replicas: 1, ` + more + `selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: ` + image + `}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}}}`
	}
	runs := func(replicas string) string {
		return strings.TrimSuffix(db("old", ""), "}") + ", status: {replicas: " + replicas + ", readyReplicas: " + replicas + "}}"
	}
	claim := func(mode string) string {
		return "\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: prod}, spec: {accessModes: [" + mode + "]}}"
	}
	forecasts(t, map[string]forecast{
		"ReadWriteOnce":                {set: db("new", ""), cluster: runs("1") + claim("ReadWriteOnce"), want: []string{"VolumeShared deployment.apps/db -n prod .spec.strategy"}, says: "strategy: {type: Recreate}"},
		"ReadWriteOncePod":             {set: db("new", ""), cluster: runs("1") + claim("ReadWriteOncePod"), want: []string{"VolumeDeadlock deployment.apps/db -n prod .spec.strategy"}},
		"the claim is in the set":      {set: db("new", "") + claim("ReadWriteOnce"), cluster: runs("1") + claim("ReadWriteOnce"), unasked: true, want: []string{"VolumeShared deployment.apps/db -n prod .spec.strategy"}},
		"Recreate":                     {set: db("new", "strategy: {type: Recreate}, "), cluster: runs("1") + claim("ReadWriteOnce")},
		"the old Pod is deleted first": {set: db("new", "strategy: {rollingUpdate: {maxUnavailable: 1}}, "), cluster: runs("1") + claim("ReadWriteOnce")},
		"ReadWriteMany":                {set: db("new", ""), cluster: runs("1") + claim("ReadWriteMany")},
		"the first rollout":            {set: db("new", ""), cluster: strings.TrimPrefix(claim("ReadWriteOnce"), "\n---\n")},
		"no Pod uses it":               {set: db("new", ""), cluster: runs("0") + claim("ReadWriteOnce")},
		"two Pods already share it":    {set: strings.Replace(db("new", ""), "replicas: 1", "replicas: 2", 1), cluster: runs("2") + claim("ReadWriteOnce")},
		"the Pods do not change":       {set: db("old", "paused: false, "), cluster: runs("1") + claim("ReadWriteOnce")},
		"paused":                       {set: db("new", "paused: true, "), cluster: runs("1") + claim("ReadWriteOnce")},
		"claims may not be read":       {set: db("new", ""), cluster: runs("1") + claim("ReadWriteOnce"), unread: []string{"PersistentVolumeClaim"}},
		"only one of two Pods may use it": {
			set: strings.Replace(db("new", ""), "replicas: 1", "replicas: 2", 1), cluster: strings.TrimPrefix(claim("ReadWriteOncePod"), "\n---\n"),
			want: []string{"VolumeInUse deployment.apps/db -n prod .spec.replicas"},
		},
		"a StatefulSet": {set: strings.Replace(db("new", ""), "Deployment", "StatefulSet", 1), cluster: strings.Replace(runs("1"), "Deployment", "StatefulSet", 1) + claim("ReadWriteOnce")},
	})
}

func TestQuotas(t *testing.T) {
	quota := func(hard, used, more string) string {
		return "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {" + hard + "}" + more + "}, status: {hard: {" + hard + "}, used: {" + used + "}}}"
	}
	asks := func(what string) string { return `containers: [{name: app, image: a, resources: {` + what + `}}]` }
	const resources = namedOfSpec + `.containers[name="app"].resources`
	forecasts(t, map[string]forecast{
		"cpu": {
			set: workload("Deployment", "web", 3, asks("requests: {cpu: 500m}")), cluster: quota("requests.cpu: '2'", "requests.cpu: '1'", ""),
			want: []string{"QuotaExceeded deployment.apps/web -n prod " + resources}, says: "its 3 new Pods need 1500m of requests.cpu; ResourceQuota q in namespace prod has 1 of 2 left",
		},
		"the quota suffices":       {set: workload("Deployment", "web", 2, asks("requests: {cpu: 500m}")), cluster: quota("requests.cpu: '2'", "requests.cpu: '1'", "")},
		"limits count as requests": {set: workload("Deployment", "web", 3, asks("limits: {cpu: 500m}")), cluster: quota("cpu: '1'", "", ""), want: []string{"QuotaExceeded deployment.apps/web -n prod " + resources}},
		"Pods":                     {set: workload("StatefulSet", "db", 3, asks("")), cluster: quota("pods: '2'", "", ""), want: []string{"QuotaExceeded statefulset.apps/db -n prod .spec"}},
		"two Deployments together exceed the quota": {
			set: workload("Deployment", "a", 2, asks("")) + "\n---\n" + workload("Deployment", "b", 2, asks("")), cluster: quota("pods: '3'", "", ""),
			want: []string{"QuotaExceeded deployment.apps/b -n prod .spec"}, says: "has 3 of 3 left, and earlier objects in this set take 2",
		},
		"existing Pods are counted":    {set: workload("Deployment", "web", 3, asks("")), cluster: quota("pods: '3'", "pods: '2'", "") + "\n---\n" + workload("Deployment", "web", 2, asks(""))},
		"one more Pod is too many":     {set: workload("Deployment", "web", 4, asks("")), cluster: quota("pods: '3'", "pods: '2'", "") + "\n---\n" + workload("Deployment", "web", 2, asks("")), want: []string{"QuotaExceeded deployment.apps/web -n prod .spec"}},
		"a rollout needs one more Pod": {set: web(asks("requests: {cpu: '1'}")), cluster: quota("pods: '1'", "pods: '1'", "") + "\n---\n" + web(asks("")), want: []string{"QuotaExceeded deployment.apps/web -n prod .spec"}},
		"pruning may free quota":       {set: workload("Deployment", "web", 3, asks("")), cluster: quota("pods: '1'", "", ""), prunes: true},
		"not enforced yet":             {set: workload("Deployment", "web", 3, asks("")), cluster: `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {pods: 1}}}`},
		"may not be read":              {set: workload("Deployment", "web", 3, asks("")), cluster: quota("pods: '1'", "", ""), unread: []string{"ResourceQuota"}},
		"in the set, without a reader": {set: `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {pods: 1}}}` + "\n---\n" + workload("Deployment", "web", 3, asks("")), unasked: true, want: []string{"QuotaExceeded deployment.apps/web -n prod .spec"}},
		"the set raises the quota":     {set: `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {pods: 5}}}` + "\n---\n" + workload("Deployment", "web", 3, asks("")), cluster: quota("pods: '1'", "", "")},
		"a suspended Job":              {set: `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: prod}, spec: {suspend: true, parallelism: 9, template: {spec: {containers: []}}}}`, cluster: quota("pods: '1'", "", "")},
		"missing resource limits": {
			set: web(asks("")), cluster: quota("limits.memory: 1Gi", "", ""),
			want: []string{"QuotaNeedsResources deployment.apps/web -n prod " + resources + ".limits"},
		},
		"a LimitRange may set defaults": {set: web(asks("")), cluster: quota("limits.memory: 1Gi", "", "") + "\n---\n{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: prod}, spec: {limits: []}}"},
		"LimitRanges may not be read":   {set: web(asks("")), cluster: quota("limits.memory: 1Gi", "", ""), unread: []string{"LimitRange"}},
		"a DaemonSet":                   {set: workload("DaemonSet", "d", 1, asks("")), cluster: quota("pods: '0'", "", "")},
	})
}

func TestBudgets(t *testing.T) {
	budget := func(allows string) string {
		return "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: prod}, spec: {" + allows + ", selector: {matchLabels: {app: web}}}}"
	}
	two := workload("Deployment", "web", 2, "containers: []")
	const hpa = "\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: prod}, spec: {scaleTargetRef: {kind: Deployment, name: web}}}"
	reported := func(field string) []string {
		return []string{"EvictionBlocked poddisruptionbudget.policy/b -n prod .spec." + field}
	}
	forecasts(t, map[string]forecast{
		"no Pod may be evicted":              {set: budget("maxUnavailable: 0"), unasked: true, want: reported("maxUnavailable")},
		"0%":                                 {set: budget("maxUnavailable: 0%"), want: reported("maxUnavailable")},
		"all Pods must stay available":       {set: budget("minAvailable: 100%"), want: reported("minAvailable")},
		"one may be evicted":                 {set: budget("maxUnavailable: 1") + "\n---\n" + two},
		"minAvailable equals replicas":       {set: budget("minAvailable: 2") + "\n---\n" + two, want: reported("minAvailable"), says: "deployment.apps/web has 2 Pods"},
		"minAvailable is below replicas":     {set: budget("minAvailable: 1") + "\n---\n" + two},
		"autoscaled":                         {set: budget("minAvailable: 2") + "\n---\n" + two + hpa},
		"autoscaler in the cluster":          {set: budget("minAvailable: 2") + "\n---\n" + two, cluster: strings.TrimPrefix(hpa, "\n---\n")},
		"autoscalers may not be read":        {set: budget("minAvailable: 2") + "\n---\n" + two, unread: []string{"HorizontalPodAutoscaler"}},
		"another workload has matching Pods": {set: budget("minAvailable: 2") + "\n---\n" + two, cluster: strings.Replace(two, "metadata: {name: web", "metadata: {name: other", 1)},
		"without Pods in the set":            {set: budget("minAvailable: 2")},
		"scaled down to minAvailable":        {set: two, cluster: budget("minAvailable: 2") + "\n---\n" + strings.Replace(two, "replicas: 2", "replicas: 3", 1), want: []string{"EvictionBlocked deployment.apps/web -n prod .spec.replicas"}},
		"unchanged":                          {set: two, cluster: budget("maxUnavailable: 0") + "\n---\n" + strings.Replace(two, "replicas: 2", "replicas: 3", 1)},
		"a custom resource may create Pods":  {set: budget("minAvailable: 2") + "\n---\n" + two + "\n---\n{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: s, namespace: prod}}"},
	})
}

// If replicas is removed from the manifest of an autoscaled workload, the workload is scaled to the
// default.
func TestReplicas(t *testing.T) {
	const hpa = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: prod}, spec: {scaleTargetRef: {kind: Deployment, name: web}}}"
	six, one := workload("Deployment", "web", 6, "containers: []"), workload("Deployment", "web", 1, "containers: []")
	reported := []string{"ReplicasReset deployment.apps/web -n prod .spec.replicas"}
	forecasts(t, map[string]forecast{
		"autoscaler in the set":          {set: one + "\n---\n" + hpa, cluster: six, unasked: true, want: reported, says: "6 replicas will be reduced to 1, although HorizontalPodAutoscaler h scales this workload"},
		"autoscaler in the cluster":      {set: one, cluster: six + "\n---\n" + hpa, want: reported, says: " deployment.apps/web .spec.replicas -n prod --to=kube-controller-manager"},
		"autoscaler of another workload": {set: one, cluster: six + "\n---\n" + strings.Replace(hpa, "name: web", "name: api", 1)},
		"autoscalers may not be read":    {set: one, cluster: six + "\n---\n" + hpa, unread: []string{"HorizontalPodAutoscaler"}},
		"new Deployment":                 {set: one + "\n---\n" + hpa},
		"the manifest states fewer":      {set: workload("Deployment", "web", 3, "containers: []") + "\n---\n" + hpa, cluster: six},
	})
}

func TestServices(t *testing.T) {
	service := func(selector, ports string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod}, spec: {selector: {" + selector + "}, ports: [" + ports + "]}}"
	}
	const spec = `containers: [{name: app, image: a, ports: [{name: http, containerPort: 8080}]}]`
	pod := func(ports, owner string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: prod, labels: {app: web}` + owner + `}, spec: {containers: [{name: c, image: a, ports: [` + ports + `]}]}}`
	}
	nothing := []string{"SelectorMatchesNothing service/s -n prod .spec.selector"}
	noPort := []string{`TargetPortMissing service/s -n prod .spec.ports[port=80,protocol="TCP"].targetPort`}
	forecasts(t, map[string]forecast{
		"matching Pods in the set":          {set: service("app: web", "{port: 80}") + "\n---\n" + web(spec)},
		"another label":                     {set: service("app: wep", "{port: 80}") + "\n---\n" + web(spec), want: nothing, says: "app=web"},
		"without a reader":                  {set: service("app: wep", "{port: 80}") + "\n---\n" + web(spec), unasked: true},
		"matching Pods in the cluster":      {set: service("app: web", "{port: 80}"), cluster: pod("", "")},
		"Deployment scaled to 0":            {set: service("app: web", "{port: 80}"), cluster: workload("Deployment", "web", 0, spec)},
		"Pods may not be read":              {set: service("app: wep", "{port: 80}"), unread: []string{"Pod"}},
		"Deployments may not be read":       {set: service("app: wep", "{port: 80}"), unread: []string{"Deployment"}},
		"an operator may create the Pods":   {set: service("app: wep", "{port: 80}") + "\n---\n{apiVersion: example.com/v1, kind: Database, metadata: {name: d, namespace: prod}}"},
		"no selector":                       {set: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod}, spec: {ports: [{port: 80}]}}"},
		"ExternalName Service":              {set: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod}, spec: {type: ExternalName, selector: {a: b}, externalName: x}}"},
		"the labels of the Pods change":     {set: service("app: wep", "{port: 80}") + "\n---\n" + web(spec), cluster: service("app: wep", "{port: 80}"), want: nothing},
		"nothing changes":                   {set: service("app: wep", "{port: 80}"), cluster: service("app: wep", "{port: 80}")},
		"a port by its name":                {set: service("app: web", "{port: 80, targetPort: http}") + "\n---\n" + web(spec)},
		"unknown target port name":          {set: service("app: web", "{port: 80, targetPort: htpp}") + "\n---\n" + web(spec), want: noPort, says: "did you mean http?"},
		"target port by number":             {set: service("app: web", "{port: 80, targetPort: 9090}") + "\n---\n" + web(spec)},
		"one of two workloads has the port": {set: service("tier: x", "{port: 80, targetPort: grpc}") + "\n---\n" + strings.ReplaceAll(strings.Replace(web(spec), "app: web", "tier: x", 2), "http", "grpc") + "\n---\n" + strings.Replace(workload("Deployment", "b", 1, spec), "app: b", "tier: x", 2)},
		"an unrelated Pod has the port":     {set: service("app: web", "{port: 80, targetPort: grpc}") + "\n---\n" + web(spec), cluster: pod("{name: grpc, containerPort: 1}", "")},
		"only the old Pods have the port": {
			set:     service("app: web", "{port: 80, targetPort: grpc}") + "\n---\n" + web(spec),
			cluster: pod("{name: grpc, containerPort: 1}", ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: u}]"), want: noPort,
		},
	})
}

// A set without relevant changes causes no requests. The number of requests does not depend on the
// number of objects.
func TestRequests(t *testing.T) {
	const spec = `containers: [{name: app, image: a, envFrom: [{configMapRef: {name: settings}}]}]`
	config := "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: prod}, data: {a: b}}"
	for name, c := range map[string]struct {
		forecast
		most int
	}{
		"nothing changes":  {forecast{set: web(spec), cluster: web(spec)}, 0},
		"only a ConfigMap": {forecast{set: config}, 0},
		"without a reader": {forecast{set: web(spec), unasked: true}, 0},
		"one Deployment":   {forecast{set: web(spec) + "\n---\n" + config}, 2}, // quotas and budgets of the namespace
		"one Deployment that refers to a ConfigMap outside the set": {forecast{set: web(spec)}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := c.foresee(t)
			if asked := m.Asked(); len(asked) > c.most {
				t.Errorf("%d requests, want %d at most: %q", len(asked), c.most, asked)
			}
		})
	}
	var many []string
	for i := range 9 {
		many = append(many, workload("Deployment", "web-"+string(rune('a'+i)), 1, strings.ReplaceAll(spec, "settings", "settings-"+string(rune('a'+i)))))
	}
	_, m := forecast{set: strings.Join(many, "\n---\n")}.foresee(t)
	if asked := m.Asked(); len(asked) > 12 {
		t.Errorf("%d requests for 9 Deployments: %q", len(asked), asked)
	}
}

// Manifests of real projects work when they are applied to an empty cluster. Remarks on them are
// correct only if the documentation requires an object that is not in the manifests, or if the
// manifests are incomplete examples.
func TestRealManifests(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode; make test checks real manifests")
	}
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	folders, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(folders) == 0 {
		t.Skip("no corpus of real manifests here; set CORPUS")
	}
	sets := map[string][]*unstructured.Unstructured{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".yaml" && ext != ".yml" {
			return err
		}
		text, err := os.ReadFile(path)
		set, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
		for doc := range strings.SplitSeq("\n"+string(text), "\n---") {
			var u unstructured.Unstructured
			if yaml.Unmarshal([]byte(doc), &u.Object) == nil && u.GetName() != "" {
				if u.GetNamespace() == "" {
					u.SetNamespace("default")
				}
				sets[set] = append(sets[set], &u)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, set := range sets {
		for _, r := range preflight.Foresee(t.Context(), &diagnosetest.Memory{}, preflight.Set{Objects: changesOf(set, nil)}) {
			got = append(got, name+": "+r.Code+" "+r.Ref.String())
			t.Logf("%s: %s: %s: %s: %s (%s)", name, r.Code, r.Ref, r.Path, r.Text, r.Hint)
		}
	}
	slices.Sort(got)
	want := []string{
		"hcloud-csi: SecretMissing deployment.apps/hcloud-csi-controller -n kube-system",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}

package preflight_test

import (
	"strings"
	"testing"
)

func docs(all ...string) string { return strings.Join(all, "\n---\n") }

// Each of these sets works, so any remark would be wrong.
func TestNoRemarksOnWorkingSets(t *testing.T) {
	const (
		app     = `containers: [{name: app, image: a}]`
		keyed   = `containers: [{name: app, image: a, env: [{name: KEY, valueFrom: {secretKeyRef: {name: keys, key: token}}}]}]`
		mounted = app + `, volumes: [{name: d, persistentVolumeClaim: {claimName: data-db-0}}]`
		db      = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: prod}, spec: {replicas: 2, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: a}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]}}`
		backup = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: backup, namespace: prod}, spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {` + mounted + `}}}}}}`
	)
	forecasts(t, map[string]forecast{
		// Claims.
		"a StatefulSet creates the claim that a CronJob mounts": {set: docs(db, backup)},
		"a StatefulSet in the cluster creates the claim":        {set: backup, cluster: db},
		"a claim template replaces a volume": {set: strings.Replace(db, "containers: [{name: db, image: a}]",
			"containers: [{name: db, image: a}], volumes: [{name: data, persistentVolumeClaim: {claimName: gone}}]", 1)},
		"an ephemeral volume of a Pod": {set: docs(
			`{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: prod}, spec: {`+app+`, volumes: [{name: data, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: look, namespace: prod}, spec: {`+app+`, volumes: [{name: d, persistentVolumeClaim: {claimName: db-data}}]}}`)},

		// Objects that cause Secrets to be created.
		"a Secret is copied from another namespace": {set: docs(web(keyed),
			`{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: vault, annotations: {reflector.v1.k8s.emberstack.com/reflection-auto-enabled: 'true'}}, data: {token: eA==}}`)},
		"a program is bound to a ClusterRole": {set: docs(web(keyed),
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: installer, namespace: prod}]}`)},
		"an aggregated role": {set: docs(web(keyed),
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: []}`)},
		"a custom resource without a spec": {set: docs(web(keyed), `{apiVersion: example.com/v1, kind: Vault, metadata: {name: v, namespace: prod}, secretName: keys}`)},
		"a controller adds the token": {set: docs(web(keyed),
			`{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: prod, annotations: {kubernetes.io/service-account.name: default}}, type: kubernetes.io/service-account-token, data: {extra: eA==}}`)},

		// Variables that webhooks add to Pods.
		"cloud identities": {set: web(`containers: [{name: app, image: a, args: [--role=$(AWS_ROLE_ARN), --client=$(AZURE_CLIENT_ID)]}]`)},
		"an annotation requests an injection": {set: strings.Replace(web(`containers: [{name: app, image: a, args: [$(OTEL_SERVICE_NAME)]}]`),
			"template: {metadata: {labels: {app: web}", "template: {metadata: {annotations: {instrumentation.opentelemetry.io/inject-java: 'true'}, labels: {app: web}", 1)},

		// Registries for which nodes have credentials, and images that are not pulled.
		"cloud registries":              {set: web(`imagePullSecrets: [{name: pull}], containers: [{name: app, image: 1.dkr.ecr.eu-west-1.amazonaws.com/a:1}, {name: b, image: eu-docker.pkg.dev/p/a:1}, {name: c, image: x.azurecr.io/a:1}]`)},
		"an image that is never pulled": {set: web(`imagePullSecrets: [{name: pull}], containers: [{name: app, image: registry.example/a:1, imagePullPolicy: Never}]`)},
	})
}

func TestNoRemarksOnWorkingRollouts(t *testing.T) {
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: prod}, spec: {accessModes: [ReadWriteOncePod]}}"
	db := func(image, more, status string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: db, namespace: prod}, spec: {replicas: 1, ` + more +
			`selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: ` + image + `}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}}` + status + `}`
	}
	const runs = ", status: {replicas: 1, readyReplicas: 1}"
	all := map[string]forecast{}
	for name, rolling := range map[string]string{
		"no surge, and a share that rounds to none": "maxSurge: 0, maxUnavailable: 25%", // One is unavailable then.
		"both round to none":                        "maxSurge: 0%, maxUnavailable: 1%",
		"one is unavailable":                        "maxSurge: 1, maxUnavailable: 1",
		"all Pods are replaced":                     "maxSurge: 1, maxUnavailable: 100%",
	} {
		strategy := "strategy: {rollingUpdate: {" + rolling + "}}, "
		all[name] = forecast{set: db("new", strategy, ""), cluster: docs(db("old", strategy, runs), claim)}
	}
	forecasts(t, all)
}

func TestNoRemarksOnSufficientQuotas(t *testing.T) {
	quota := func(hard, used string) string {
		return "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {" + hard + "}}, status: {hard: {" + hard + "}, used: {" + used + "}}}"
	}
	asks := func(cpu string) string {
		return `containers: [{name: app, image: a, resources: {requests: {cpu: ` + cpu + `}}}]`
	}
	recreate := func(w string) string {
		return strings.Replace(w, "spec: {replicas", "spec: {strategy: {type: Recreate}, replicas", 1)
	}
	forecasts(t, map[string]forecast{
		"another object of the set needs less": {
			set:     docs(workload("Deployment", "a", 3, asks("'1'")), workload("Deployment", "b", 1, asks("'1'"))),
			cluster: docs(quota("requests.cpu: '4', pods: '4'", "requests.cpu: '4', pods: '4'"), workload("Deployment", "a", 1, asks("'1'")), workload("Deployment", "b", 3, asks("'1'"))),
		},
		"an earlier object of the set needs less": {
			set:     docs(workload("Deployment", "a", 1, asks("'1'")), workload("Deployment", "b", 3, asks("'1'"))),
			cluster: docs(quota("requests.cpu: '4'", "requests.cpu: '4'"), workload("Deployment", "a", 3, asks("'1'")), workload("Deployment", "b", 1, asks("'1'"))),
		},
		"the same object needs less": {
			set:     docs(workload("Deployment", "a", 4, asks("500m")), workload("Deployment", "b", 1, asks("'1'"))),
			cluster: docs(quota("requests.cpu: '3'", "requests.cpu: '3'"), workload("Deployment", "a", 4, asks("500m")), workload("Deployment", "b", 1, asks("'1'"))),
		},
		"smaller Pods, and the old ones end first": {
			set:     recreate(workload("Deployment", "a", 4, asks("250m"))),
			cluster: docs(quota("requests.cpu: '2'", "requests.cpu: '2'"), recreate(workload("Deployment", "a", 2, asks("'1'")))),
		},
		"a Job whose Pods run one after another": {
			set:     `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: prod}, spec: {parallelism: 5, completions: 9, template: {spec: {containers: []}}}}`,
			cluster: quota("pods: '2'", "pods: '1'"),
		},
		"a VerticalPodAutoscaler sets the requests": {
			set: docs(web(`containers: [{name: app, image: a}]`),
				"{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: v, namespace: prod}, spec: {targetRef: {kind: Deployment, name: web}}}"),
			cluster: quota("requests.cpu: '2'", ""),
		},
	})
}

func TestNoRemarksOnWorkingServices(t *testing.T) {
	service := func(selector, ports string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: prod}, spec: {selector: {" + selector + "}, ports: [" + ports + "]}}"
	}
	const spec = `containers: [{name: app, image: a, ports: [{name: http, containerPort: 8080}]}]`
	sets := workload("StatefulSet", "db", 2, spec)
	all := map[string]forecast{
		"the leader labels itself": {set: docs(service("app: web, role: primary", "{port: 80}"), web("serviceAccountName: web, "+spec), "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: prod}}")},
		"a role of the set lets it": {set: docs(service("app: web, role: primary", "{port: 80}"), web(spec),
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: prod}, rules: [{apiGroups: [''], resources: [pods], verbs: [get, patch]}]}")},
		"a CronJob of the cluster": {set: service("app: report", "{port: 80}"), cluster: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: prod},
  spec: {jobTemplate: {spec: {template: {metadata: {labels: {app: report}}, spec: {containers: []}}}}}}`},
		"a ReplicaSet of the cluster":         {set: service("app: r", "{port: 80}"), cluster: workload("ReplicaSet", "r", 0, spec)},
		"the proxy of a mesh has the port":    {set: docs(service("app: web", "{port: 80, targetPort: http-envoy-prom}"), web(spec))},
		"a sidecar is injected with the port": {set: docs(service("app: web", "{port: 80, targetPort: agent}"), strings.Replace(web(spec), "template: {metadata: {labels: {", "template: {metadata: {labels: {sidecar.example.com/inject: 'true', ", 1))},
	}
	for _, label := range []string{"statefulset.kubernetes.io/pod-name: db-0", "apps.kubernetes.io/pod-index: '0'", "controller-revision-hash: db-1"} {
		all["a label that the controller sets, "+label] = forecast{set: docs(service("app: db, "+label, "{port: 80}"), sets)}
		all["Service only, "+label] = forecast{set: docs(service(label, "{port: 80}"), sets)}
	}
	forecasts(t, all)
}

func TestNoRemarksOnWorkingBudgets(t *testing.T) {
	budget := "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: prod}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}"
	two := workload("Deployment", "web", 2, "containers: []")
	pod := func(name, owner string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: prod, labels: {app: web}` + owner + `}, spec: {containers: []}}`
	}
	forecasts(t, map[string]forecast{
		"the budget also counts a bare Pod":            {set: docs(budget, two), cluster: pod("bare", "")},
		"the budget also counts a Pod of a ReplicaSet": {set: docs(budget, two), cluster: pod("r-1", ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u}]")},
		"the budget blocked evictions before": {
			set:     docs(two, workload("Deployment", "other", 1, "containers: []")),
			cluster: docs(budget, strings.Replace(two, "containers: []", "containers: [{name: a, image: old}]", 1)),
		},
	})
}

package preflight_test

import "testing"

// A quota counts the Pods that match all its scopes. If it is unknown whether Pods match, there is
// no remark.
func TestScopes(t *testing.T) {
	quota := func(scopes string) string {
		return "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {pods: 1}, " + scopes + "}, status: {hard: {pods: 1}}}"
	}
	const (
		plain   = `containers: [{name: app, image: a}]`
		asking  = `containers: [{name: app, image: a, resources: {requests: {cpu: 1m}}}]`
		zero    = `containers: [{name: app, image: a, resources: {limits: {memory: '0'}}}]`
		ending  = `activeDeadlineSeconds: 60, ` + plain
		ranking = `priorityClassName: high, ` + plain
		limits  = "\n---\n{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: prod}, spec: {limits: []}}"
	)
	by := func(scope, operator, values string) string {
		return "scopeSelector: {matchExpressions: [{scopeName: " + scope + ", operator: " + operator + values + "}]}"
	}
	all := map[string]forecast{}
	for _, c := range []struct {
		scopes, spec, more string
		counted            bool
	}{
		{"scopes: [BestEffort]", plain, "", true},
		{"scopes: [BestEffort]", zero, "", true},
		{"scopes: [BestEffort]", asking, "", false},
		{"scopes: [BestEffort]", plain, limits, false}, // It may state a request.
		{"scopes: [NotBestEffort]", asking, "", true},
		{"scopes: [NotBestEffort]", asking, limits, true},
		{"scopes: [NotBestEffort]", plain, "", false},
		{"scopes: [NotBestEffort]", plain, limits, false},
		{"scopes: [Terminating]", ending, "", true},
		{"scopes: [Terminating]", plain, "", false},
		{"scopes: [NotTerminating]", plain, "", true},
		{"scopes: [NotTerminating]", ending, "", false},
		{"scopes: [NotTerminating, BestEffort]", plain, "", true},
		{"scopes: [NotTerminating, BestEffort]", asking, "", false},
		{by("Terminating", "Exists", ""), ending, "", true},
		{by("PriorityClass", "In", ", values: [high]"), ranking, "", true},
		{by("PriorityClass", "In", ", values: [low]"), ranking, "", false},
		{by("PriorityClass", "NotIn", ", values: [low]"), ranking, "", true},
		{by("PriorityClass", "Exists", ""), ranking, "", true},
		{by("PriorityClass", "DoesNotExist", ""), ranking, "", false},
		{by("PriorityClass", "DoesNotExist", ""), plain, "", false}, // A class may be that of all Pods.
		{by("PriorityClass", "In", ", values: [high]"), plain, "", false},
		{by("CrossNamespacePodAffinity", "Exists", ""), plain, "", false},
		{by("OfLater", "Exists", ""), plain, "", false},
	} {
		f := forecast{set: workload("Deployment", "web", 2, c.spec), cluster: quota(c.scopes) + c.more}
		if c.counted {
			f.want = []string{"QuotaExceeded deployment.apps/web -n prod .spec"}
		}
		all[c.scopes+" "+c.spec+c.more] = f
	}
	forecasts(t, all)
}

// If one object frees a part of a quota, Pods outside of the set may use it first. The remark says
// so.
func TestQuotaReleasedBySetMayNotSuffice(t *testing.T) {
	const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: prod}, spec: {hard: {pods: 4}}, status: {hard: {pods: 4}, used: {pods: 4}}}"
	const app = `containers: [{name: app, image: a}]`
	forecasts(t, map[string]forecast{
		"the set releases less than it needs": {
			set:     docs(workload("Deployment", "a", 4, app), workload("Deployment", "b", 1, app)),
			cluster: docs(quota, workload("Deployment", "a", 1, app), workload("Deployment", "b", 3, app)),
			want:    []string{"QuotaExceeded deployment.apps/a -n prod .spec"},
			says:    "its 3 new Pods need 3 of pods; ResourceQuota q in namespace prod has 0 of 4 left; objects in this set release 2",
		},
		"a resumed Deployment": {
			set:     `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: prod}, spec: {replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {` + app + `}}}}`,
			cluster: docs(quota, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: prod}, spec: {paused: true, replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {`+app+`}}}}`),
		},
	})
}

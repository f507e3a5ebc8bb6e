package reportjudge

import (
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// event is an audit event of the run "r".
func event(id, verb, uri string, code int) cluster.AuditEvent {
	e := cluster.AuditEvent{AuditID: id, Verb: verb, RequestURI: uri, RequestReceivedTimestamp: time.Unix(5, 0)}
	e.ResponseStatus.Code = code
	return e
}

const (
	web    = "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=k8sconnect"
	web1st = "/apis/apps/v1/namespaces/shop/deployments/web"
	app    = "/api/v1/namespaces/shop/configmaps/app"
)

// The judge accepts a true report, and refuses each lie, in each format.
func TestJudge(t *testing.T) {
	created, configured := event("r-1", "patch", web, 201), event("r-1", "patch", web, 200)
	deleted := event("r-2", "delete", web1st, 200)
	otherCreated, otherDeleted := event("x-1", "create", "/apis/apps/v1/namespaces/shop/deployments/web", 201), event("x-2", "delete", web1st, 200)
	const lease = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/"
	document := func(action string) string {
		return `{"kind": "ApplyResult", "objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "action": "` + action + `"}]}`
	}
	stream := func(action string) string {
		return `{"type": "planned"}
{"type": "applied", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "action": "` + action + `"}}
{"type": "finished"}`
	}
	for name, test := range map[string]struct {
		args   string
		stdout string
		events []cluster.AuditEvent
		// lie is a part of the fault; empty if the report is true.
		lie string
	}{
		"a create":                              {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{created}, ""},
		"no create":                             {"apply", "created     deployment.apps/web -n shop\n1 created\n", nil, "no request created it"},
		"a create that is an update":            {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{configured}, "no request created it"},
		"a refused create":                      {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{event("r-1", "patch", web, 403)}, "no request created it"},
		"a dry run":                             {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{event("r-1", "patch", web+"&dryRun=All", 201)}, "no request created it"},
		"another run's create":                  {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{event("rr-1", "patch", web, 201)}, "no request created it"},
		"another namespace":                     {"apply", "created     deployment.apps/web -n other\n1 created\n", []cluster.AuditEvent{created}, "no request created it"},
		"a change":                              {"apply", "configured  deployment.apps/web -n shop\n1 configured\n", []cluster.AuditEvent{configured}, ""},
		"a create without an answer":            {"apply", "created     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{event("r-1", "patch", web, 504)}, ""},
		"unchanged without an answer":           {"apply", "1 unchanged\n", []cluster.AuditEvent{event("r-1", "patch", web, 504)}, ""},
		"unchanged, because another created it": {"apply -o json", document("unchanged"), []cluster.AuditEvent{configured, otherCreated}, ""},
		"unchanged, but another deleted it":     {"apply -o json", document("unchanged"), []cluster.AuditEvent{configured, otherDeleted}, "is unchanged, but"},
		"a plan":                                {"sets rollback -o json", strings.Replace(document("configured"), "ApplyResult", "DiffResult", 1), nil, ""},
		"a plan that writes":                    {"sets rollback -o json", strings.Replace(document("configured"), "ApplyResult", "DiffResult", 1), []cluster.AuditEvent{configured}, "must not write"},
		"a namespace's finalizer":               {"delete --remove-finalizer=x", "deleted      namespace/shop\n1 deleted\n", []cluster.AuditEvent{event("r-1", "update", "/api/v1/namespaces/shop/finalize", 200)}, ""},
		"a Lease":                               {"apply", "created     lease.coordination.k8s.io/web -n shop\n1 created\n", []cluster.AuditEvent{event("r-1", "patch", lease+"web", 201)}, ""},
		"the Lease of a lock":                   {"apply", "1 unchanged\n", []cluster.AuditEvent{event("r-1", "patch", lease+"applyset-0123456789abcdef0123456789abcdef", 201)}, ""},
		"a delete by another":                   {"delete", "deleted      deployment.apps/web -n shop\n1 deleted\n", []cluster.AuditEvent{otherDeleted}, ""},
		"a delete by nobody":                    {"delete", "deleted      deployment.apps/web -n shop\n1 deleted\n", []cluster.AuditEvent{otherCreated}, "no request deleted it"},
		"no change":                             {"apply", "configured  deployment.apps/web -n shop\n1 configured\n", nil, "no request wrote it"},
		"unchanged":                             {"apply", "1 unchanged\n", nil, ""},
		"unchanged, but written":                {"apply", "1 unchanged\n", []cluster.AuditEvent{configured}, "summary counts only 0"},
		"unchanged, but created":                {"apply", "1 unchanged\n", []cluster.AuditEvent{created}, "no line for"},
		"folded":                                {"apply", "created     1 Deployment -n shop\n1 created\n", []cluster.AuditEvent{created}, ""},
		"folded, but too few":                   {"apply", "created     1 Deployment -n shop\n1 created\n", []cluster.AuditEvent{created, event("r-1", "patch", app, 201)}, "folded lines count only 1"},
		"folded, but not created":               {"apply", "created     2 Deployments -n shop\n2 created\n", []cluster.AuditEvent{created}, "counts 2 created"},
		"shared":                                {"apply", "1 shared\n", []cluster.AuditEvent{configured}, ""},
		"a write of another object":             {"apply", "configured  deployment.apps/web -n shop\n1 configured\n", []cluster.AuditEvent{configured, event("r-3", "patch", app, 200)}, "summary counts only 0"},
		"pruned":                                {"apply", "pruned      deployment.apps/web -n shop\n1 pruned\n", []cluster.AuditEvent{deleted}, ""},
		"pruned, but there":                     {"apply", "pruned      deployment.apps/web -n shop\n1 pruned\n", nil, "no request deleted it"},
		"a prune without a line":                {"apply", "1 unchanged\n", []cluster.AuditEvent{deleted}, "no line for"},
		"kept, but deleted":                     {"apply", "kept        deployment.apps/web -n shop: why\n1 kept\n", []cluster.AuditEvent{deleted}, "is kept, but"},
		"taken, but not written":                {"apply", "shared      deployment.apps/web -n shop\n    taken    .spec.replicas  from x\n1 shared\n", nil, "no request wrote it"},
		"recreated, but only written":           {"apply", "recreated   deployment.apps/web -n shop\n1 recreated\n", []cluster.AuditEvent{configured}, "not deleted and created"},
		"skipped, but written":                  {"apply", "skipped     deployment.apps/web -n shop: why\n1 skipped\n", []cluster.AuditEvent{configured}, "is skipped, but"},
		"skipped, but its owners changed":       {"apply", "skipped     deployment.apps/web -n shop: only owners have changed (the fields of x are yours now): why\n1 skipped\n", []cluster.AuditEvent{configured}, ""},
		"skipped, and its owners have not":      {"apply", "skipped     deployment.apps/web -n shop: only owners have changed (the fields of x are yours now): why\n1 skipped\n", nil, "no request wrote it"},
		"pruned by another":                     {"apply", "pruned      deployment.apps/web -n shop\n1 pruned\n", []cluster.AuditEvent{otherDeleted}, ""},
		"too many created":                      {"apply -o name", "deployment.apps/web\nconfigmap/app\n2 created\n", []cluster.AuditEvent{created}, "counts 2 created"},
		"a diff":                                {"diff", "create  deployment.apps/web -n shop\n", nil, ""},
		"a diff that writes":                    {"diff", "", []cluster.AuditEvent{configured}, "must not write"},
		"a dry run that writes":                 {"apply --dry-run=server", "", []cluster.AuditEvent{created}, "must not write"},
		"a list that writes":                    {"sets", "", []cluster.AuditEvent{configured}, "must not write"},
		"a delete":                              {"delete", "deleted      deployment.apps/web -n shop\n1 deleted\n", []cluster.AuditEvent{deleted}, ""},
		"a delete that deletes more":            {"delete", "deleted      deployment.apps/web -n shop\n1 deleted\n", []cluster.AuditEvent{deleted, event("r-3", "delete", app, 200)}, "no line for"},
		"JSON":                                  {"apply -o json", document("created"), []cluster.AuditEvent{created}, ""},
		"JSON: unchanged, but written":          {"apply -o json", document("unchanged"), []cluster.AuditEvent{configured}, "is unchanged, but"},
		"a stream":                              {"apply -o stream", stream("configured"), []cluster.AuditEvent{configured}, ""},
		"a stream: not configured":              {"apply -o stream", stream("configured"), nil, "no request wrote it"},
		"colours":                               {"apply", "\x1b[32mcreated\x1b[0m     deployment.apps/web -n shop\n1 created\n", []cluster.AuditEvent{created}, ""},
		"its own records":                       {"apply --apply-set=shop", "1 unchanged\n", []cluster.AuditEvent{event("r-1", "patch", "/api/v1/namespaces/shop/secrets/shop", 200)}, ""},
		"a namesake of its record":              {"apply --apply-set=shop", "1 unchanged\n", []cluster.AuditEvent{event("r-1", "patch", "/api/v1/namespaces/shop/configmaps/shop", 200)}, "summary counts only 0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Record{
				Run: "r", Args: append([]string{"kubectl-k8sconnect"}, strings.Fields(test.args)...), Stdout: test.stdout,
				Began: time.Unix(1, 0), Ended: time.Unix(9, 0),
			}
			own, others := writesDuring(r, test.events)
			wrong, _ := judge(r, own, others)
			switch all := strings.Join(wrong, "\n"); {
			case test.lie == "" && all != "":
				t.Errorf("a true report is refused: %s", all)
			case !strings.Contains(all, test.lie):
				t.Errorf("got %q, want %q", all, test.lie)
			}
		})
	}
}

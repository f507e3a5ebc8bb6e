package reportjudge

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// write is a request that changed something, according to the audit log.
type write struct {
	group, resource, namespace, name, subresource string

	created bool // the object did not exist
	deleted bool
	// unsure is set if the request ended before its outcome was known: it may have done anything.
	unsure bool
}

func (w write) String() string {
	words := "written"
	switch {
	case w.created:
		words = "created"
	case w.deleted:
		words = "deleted"
	}
	resource := w.resource
	if w.group != "" {
		resource += "." + w.group
	}
	return fmt.Sprintf("%s/%s -n %s %s", resource, w.name, w.namespace, words)
}

// same reports whether two writes are of the same object.
func (w write) same(o write) bool {
	return w.group == o.group && w.resource == o.resource && w.namespace == o.namespace && w.name == o.name
}

// is reports whether an object is that of the write. The log has the plural of the kind, which a
// custom kind chooses freely.
func (w write) is(o object) bool {
	custom := strings.Contains(w.group, ".") && !strings.HasSuffix(w.group, ".k8s.io")
	return w.group == o.group && w.namespace == o.namespace && w.name == o.name &&
		(custom || strings.HasPrefix(w.resource, o.kind[:max(1, len(o.kind)-1)]))
}

var ofNamespace = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)(?:/(finalize|status))?$`)

var address = regexp.MustCompile(`^/(?:api|apis/([^/]+))/[^/]+(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+)(?:/([^/]+))?)?$`)

// writeOf returns what a request changed. Reads, dry runs, questions, and refused requests change
// nothing. The server logs 504 for a request whose connection broke.
func writeOf(e cluster.AuditEvent) (write, bool) {
	unsure := e.ResponseStatus.Code == 0 || e.ResponseStatus.Code == http.StatusGatewayTimeout
	u, err := url.Parse(e.RequestURI)
	if err != nil || u.Query().Has("dryRun") || e.ResponseStatus.Code >= 300 && !unsure {
		return write{}, false
	}
	if !slices.Contains([]string{"patch", "update", "create", "delete", "deletecollection"}, e.Verb) {
		return write{}, false
	}
	w := write{created: e.ResponseStatus.Code == 201, deleted: e.Verb == "delete", unsure: unsure}
	path := u.Path
	if m := ofNamespace.FindStringSubmatch(path); m != nil {
		w.resource, w.name, w.subresource = "namespaces", m[1], m[2]
		return w, true
	}
	m := address.FindStringSubmatch(path)
	if m == nil {
		return write{}, false
	}
	w.group, w.namespace, w.resource, w.name, w.subresource = m[1], m[2], m[3], m[4], m[5]
	switch {
	case w.group == "authorization.k8s.io" && w.name == "", w.group == "authentication.k8s.io" && w.name == "":
		return write{}, false // a question
	case w.resource == "events", w.resource == "leases" && (w.name == "" || lock.MatchString(w.name)):
		return write{}, false // the run's own notes
	}
	return w, true
}

// lock matches the names of the Leases that lock sets. A POST has no name; objects of the input are
// always sent by PATCH.
var lock = regexp.MustCompile(`^applyset-[0-9a-f]{32}$`)

// kept matches the names of the Secrets in which a set keeps the manifests of its runs.
var kept = regexp.MustCompile(`^applyset-[0-9a-f]{32}\.`)

// books reports whether a write is part of a set's records: its parent, or kept manifests.
func (r Record) books(w write) bool {
	return w.resource == "secrets" && kept.MatchString(w.name) ||
		slices.ContainsFunc(r.parents(), func(p object) bool { p.namespace = w.namespace; return w.group == p.group && w.is(p) })
}

// parents returns the parents of the sets in the run's arguments, without their namespaces.
func (r Record) parents() []object {
	var out []object
	for i, arg := range r.Args {
		name, ok := strings.CutPrefix(arg, "--apply-set=")
		if arg == "--apply-set" && i+1 < len(r.Args) {
			name, ok = r.Args[i+1], true
		}
		if !ok && strings.HasPrefix(r.verb(), "sets ") && !strings.HasPrefix(arg, "-") && i > 1 {
			name, ok = arg, true
		}
		if ok {
			kind, short, ok := strings.Cut(name, "/")
			if !ok {
				kind, short = "secret", name
			}
			kind, group, _ := strings.Cut(kind, ".")
			out = append(out, object{group: group, kind: kind, name: short})
		}
	}
	return out
}

// judge returns what a run's report says wrongly of its writes, and the number of lines it judged.
// others are the writes of others during the run.
func judge(r Record, all, others []write) (wrong []string, lines int) {
	claimed := r.read()
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	// Another run can create an object first. The request of this run then changes nothing, but the
	// log does not show that.
	raced := func(w write) bool {
		return !w.created && !w.deleted && slices.ContainsFunc(others, func(o write) bool { return o.created && o.same(w) })
	}
	var writes, unsure []write
	for _, w := range all {
		if w.unsure {
			unsure = append(unsure, w)
		} else {
			writes = append(writes, w)
		}
	}
	if r.asks() || claimed.predicts {
		for _, w := range writes {
			if r.books(w) && claimed.predicts {
				continue
			}
			fault("a run that must not write: %s", w)
		}
		return wrong, max(1, len(claimed.claims))
	}
	for _, c := range claimed.claims {
		lines++
		var own []write
		for _, w := range writes {
			if w.is(c.object) {
				own = append(own, w)
			}
		}
		has := func(is func(write) bool) bool { return slices.ContainsFunc(own, is) }
		perhaps := slices.ContainsFunc(unsure, func(w write) bool { return w.is(c.object) })
		created := has(func(w write) bool { return w.created }) || perhaps
		deleted := has(func(w write) bool { return w.deleted }) || perhaps
		changed := has(func(w write) bool { return !w.created && !w.deleted }) || perhaps
		switch c.action {
		case "created":
			if !created {
				fault("%s is created, but no request created it", c.object)
			}
		case "configured", "shared", "given", "restored":
			if !changed && !created {
				fault("%s is %s, but no request wrote it", c.object, c.action)
			}
		case "recreated":
			if !deleted || !created {
				fault("%s is recreated, but not deleted and created", c.object)
			}
		case "pruned", "deleted":
			// An object also goes when its last finalizer is removed, and with its namespace.
			removed := slices.ContainsFunc(others, func(o write) bool { return o.deleted && o.is(c.object) })
			otherwise := changed && r.removesFinalizer() || gone(c.object, writes) ||
				slices.ContainsFunc(others, func(o write) bool { return !o.created && o.is(c.object) }) // Another client removed it.
			if !deleted && (c.action == "pruned" || !otherwise) && !removed {
				fault("%s is %s, but no request deleted it", c.object, c.action)
			}
		case "unchanged":
			if i := slices.IndexFunc(own, func(w write) bool { return !raced(w) }); i >= 0 && !c.joined && !c.back {
				fault("%s is unchanged, but %s", c.object, own[i])
			}
		case "skipped", "absent", "kept":
			if len(own) > 0 && !c.back && (!c.owned || created || deleted) {
				fault("%s is %s, but %s", c.object, c.action, own[0])
			}
		case "conflict":
			if (created || deleted) && !perhaps {
				fault("%s is in conflict, but %s", c.object, own[0])
			}
		}
		if c.owned && !changed {
			fault("%s is skipped after a change of its owners, but no request wrote it", c.object)
		}
		if c.taken && len(own) == 0 && !perhaps && c.action != "conflict" && c.action != "failed" && c.action != "skipped" {
			fault("%s is reported as taken, but no request wrote it", c.object)
		}
	}
	unlisted(r, claimed, slices.DeleteFunc(writes, raced), len(unsure), fault)
	return wrong, lines
}

// unlisted judges the writes of objects without a line. A table only counts the objects of which
// nothing but owners changed. unsure counts the requests with an unknown outcome.
func unlisted(r Record, claimed report, writes []write, unsure int, fault func(string, ...any)) {
	quiet, folded := map[string]bool{}, map[string]bool{}
	for _, w := range writes {
		switch {
		case r.books(w), slices.ContainsFunc(claimed.claims, func(c claim) bool { return w.is(c.object) }):
		case claimed.bare:
			quiet[w.String()] = true
		case (w.created || w.deleted) && len(claimed.folded) > 0:
			folded[w.String()] = true
		case claimed.whole, w.created, w.deleted:
			fault("the report has no line for %s", w)
		default:
			quiet[w.String()] = true
		}
	}
	// An object that is recreated is deleted and created.
	if n := claimed.folded["created"] + claimed.folded["pruned"] + claimed.folded["deleted"] + 2*claimed.folded["recreated"]; len(folded) > n {
		fault("%d objects without a line were created or deleted, but folded lines count only %d", len(folded), n)
	}
	listed := 0
	for _, c := range claimed.claims {
		if c.action == "shared" || c.action == "configured" || c.action == "given" {
			listed++
		}
	}
	most := claimed.counts["shared"] + claimed.counts["configured"] + claimed.counts["given"] - listed
	if claimed.bare {
		most += claimed.counts["created"] + claimed.counts["deleted"]
	}
	if len(quiet) > most {
		fault("%d objects without a line were written, but the summary counts only %d: %v", len(quiet), most, quiet)
	}
	created := map[string]bool{}
	for _, w := range writes {
		if w.created && !r.books(w) {
			created[w.String()] = true
		}
	}
	if n := claimed.counts["created"]; n > len(created)+unsure {
		fault("the summary counts %d created, but requests created %d", n, len(created))
	}
}

func (r Record) removesFinalizer() bool {
	return slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "--remove-finalizer") })
}

// gone reports whether the run deleted the object's namespace.
func gone(o object, writes []write) bool {
	return slices.ContainsFunc(writes, func(w write) bool {
		return w.deleted && w.group == "" && w.resource == "namespaces" && w.name == o.namespace
	})
}

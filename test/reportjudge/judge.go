package reportjudge

import (
	"fmt"
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

// is reports whether an object is that of the write. The log has the plural of the kind, which a
// custom kind chooses freely.
func (w write) is(o object) bool {
	custom := strings.Contains(w.group, ".") && !strings.HasSuffix(w.group, ".k8s.io")
	return w.group == o.group && w.namespace == o.namespace && w.name == o.name &&
		(custom || strings.HasPrefix(w.resource, o.kind[:max(1, len(o.kind)-1)]))
}

var address = regexp.MustCompile(`^/(?:api|apis/([^/]+))/[^/]+(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+)(?:/([^/]+))?)?$`)

// writeOf returns what a request changed. Reads, dry runs, questions, and refused requests change
// nothing.
func writeOf(e cluster.AuditEvent) (write, bool) {
	u, err := url.Parse(e.RequestURI)
	if err != nil || u.Query().Has("dryRun") || e.ResponseStatus.Code >= 300 || e.ResponseStatus.Code == 0 {
		return write{}, false
	}
	if !slices.Contains([]string{"patch", "update", "create", "delete", "deletecollection"}, e.Verb) {
		return write{}, false
	}
	w := write{created: e.ResponseStatus.Code == 201, deleted: e.Verb == "delete"}
	path := u.Path
	if rest, ok := strings.CutPrefix(path, "/api/v1/namespaces/"); ok && !strings.Contains(rest, "/") {
		w.resource, w.name = "namespaces", rest
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
	case w.resource == "events", w.resource == "leases":
		return write{}, false // the run's own notes
	}
	return w, true
}

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
func judge(r Record, writes []write) (wrong []string, lines int) {
	claimed := r.read()
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if r.asks() {
		for _, w := range writes {
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
		created := has(func(w write) bool { return w.created })
		deleted := has(func(w write) bool { return w.deleted })
		changed := has(func(w write) bool { return !w.created && !w.deleted })
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
			otherwise := changed && r.removesFinalizer() || gone(c.object, writes)
			if !deleted && (c.action == "pruned" || !otherwise) {
				fault("%s is %s, but no request deleted it", c.object, c.action)
			}
		case "unchanged":
			if len(own) > 0 && !c.joined && !c.back {
				fault("%s is unchanged, but %s", c.object, own[0])
			}
		case "skipped", "absent", "kept":
			if len(own) > 0 && !c.back {
				fault("%s is %s, but %s", c.object, c.action, own[0])
			}
		case "conflict":
			if created || deleted {
				fault("%s is in conflict, but %s", c.object, own[0])
			}
		}
		if c.taken && len(own) == 0 && c.action != "conflict" && c.action != "failed" && c.action != "skipped" {
			fault("%s is reported as taken, but no request wrote it", c.object)
		}
	}
	unlisted(r, claimed, writes, fault)
	return wrong, lines
}

// unlisted judges the writes of objects without a line. A table only counts the objects of which
// nothing but owners changed.
func unlisted(r Record, claimed report, writes []write, fault func(string, ...any)) {
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
	if n := claimed.counts["created"]; n > len(created) {
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

package reportjudge

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object identifies an object as a report names it.
type object struct{ group, kind, namespace, name string }

func (o object) String() string {
	kind := o.kind
	if o.group != "" {
		kind += "." + o.group
	}
	if o.namespace == "" {
		return kind + "/" + o.name
	}
	return kind + "/" + o.name + " -n " + o.namespace
}

// claim is one line of a report.
type claim struct {
	object
	action string
	// taken means that the line names values or owners that the run took.
	taken bool
	// joined means that the object joined a set, for which a label suffices.
	joined bool
	// back is the action of a rollback.
	back bool
	// owned means that the reason of a skipped object says that its owners have changed.
	owned bool
}

// ownersOnly is the reason of an object that a run has begun to adopt.
const ownersOnly = "only owners have changed"

// report is what a run claims.
type report struct {
	claims []claim
	// folded are the numbers of objects, by action, that a long table has on one line.
	folded map[string]int
	// counts are the summary's numbers, by action.
	counts map[string]int
	// whole means that claims contains every object; a table only counts unchanged ones.
	whole bool
	// predicts means that the report predicts a run, which needs confirmation.
	predicts bool
	// bare means that successes are names, or objects, without their actions.
	bare bool
}

func isVerb(arg string) bool {
	switch arg {
	case "apply", "diff", "wait", "owners", "give", "delete", "stuck", "unready", "sets", "fights", "history", "deprecated", "version", "completion":
		return true
	}
	return false
}

// verb returns the run's verb, such as "apply" or "sets rollback".
func (r Record) verb() string {
	for i, arg := range r.Args[min(1, len(r.Args)):] {
		if !isVerb(arg) {
			continue
		}
		if arg == "sets" {
			for _, sub := range r.Args[i+2:] {
				if slices.Contains([]string{"rollback", "delete", "rejoin", "leave"}, sub) {
					return "sets " + sub
				}
			}
		}
		return arg
	}
	return ""
}

// asks reports whether the run must not write.
func (r Record) asks() bool {
	if slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "--dry-run") && a != "--dry-run=none" }) {
		return true
	}
	switch r.verb() {
	case "apply", "give", "delete", "sets rollback", "sets delete", "sets rejoin", "sets leave":
		return false
	case "owners":
		return !slices.Contains(r.Args, "--migrate-versions")
	}
	return true
}

var (
	colour  = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	line    = regexp.MustCompile(`^([a-z]+)\s+([a-z0-9-]+)((?:\.[a-z0-9-]+)*)/([^\s:]+(?::[^\s:]+)*)(?: -n ([a-z0-9-]+))?(.*)$`)
	summary = regexp.MustCompile(`^\d+ [a-z]+(?:, \d+ [a-z ]+)*`)
	// migrated is the summary of owners --migrate-versions, which counts owners.
	migrated = regexp.MustCompile(`^(\d+) owners? rewritten`)
	count    = regexp.MustCompile(`^(\d+) ([a-z]+)`)
	fold     = regexp.MustCompile(`^([a-z]+)\s+(\d+) [A-Z]`)
)

// read reads the report that a run printed.
func (r Record) read() report {
	out := report{counts: map[string]int{}, folded: map[string]int{}}
	if text := strings.TrimSpace(r.Stdout); strings.HasPrefix(text, "{") {
		if out.document(text) {
			return out
		}
	}
	// With -o name, objects or junit, the table's lines are on stderr.
	out.bare = out.bare || slices.ContainsFunc(r.Args, func(a string) bool {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "-o="), "--output=")
		return a == "name" || a == "junit" || strings.HasPrefix(a, "jsonpath=") || strings.HasPrefix(a, "objects")
	}) || strings.HasPrefix(r.verb(), "owners")
	out.table(r.Stdout)
	out.table(r.Stderr)
	return out
}

// result is an object in a document or in a stream.
type result struct {
	APIVersion, Kind, Namespace, Name, Action string
	Reason                                    string
	Error                                     struct{ Message string }
	Taken, Adopted                            []any
	Joined                                    any
	Rollback                                  *struct{ Action string }
}

// document reads JSON: one document, or a stream of results.
func (r *report) document(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	for d.More() {
		var one struct {
			Kind, Type string
			Object     result
			Objects    []result
		}
		if d.Decode(&one) != nil {
			return false
		}
		switch {
		case strings.HasSuffix(one.Kind, "Result"):
			r.whole = true
			r.predicts = one.Kind == "DiffResult"
			for _, o := range one.Objects {
				r.add(o)
			}
		case one.Type == "finished":
			r.whole = true
		case one.Object.Action != "":
			r.add(one.Object)
		}
	}
	return r.whole
}

func (r *report) add(o result) {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		group = ""
	}
	of := object{group, strings.ToLower(o.Kind), o.Namespace, o.Name}
	r.counts[o.Action]++
	r.claims = append(r.claims, claim{object: of, action: o.Action, taken: len(o.Taken)+len(o.Adopted) > 0, joined: o.Joined != nil, owned: strings.Contains(o.Reason+o.Error.Message, ownersOnly)})
	if o.Rollback != nil {
		r.claims = append(r.claims, claim{object: of, action: o.Rollback.Action, back: true})
	}
}

// table reads the lines of a table, and its summary.
func (r *report) table(text string) {
	back := false
	for at := range strings.Lines(colour.ReplaceAllString(text, "")) {
		at = strings.TrimRight(at, "\n")
		back = back || strings.Contains(at, "the run was rolled back:")
		if m := line.FindStringSubmatch(at); m != nil {
			r.claims = append(r.claims, claim{
				object: object{strings.TrimPrefix(m[3], "."), m[2], m[5], m[4]},
				action: m[1], joined: strings.Contains(m[6], "joined "), back: back, owned: strings.Contains(m[6], ownersOnly),
			})
			continue
		}
		if m := fold.FindStringSubmatch(at); m != nil {
			n, _ := strconv.Atoi(m[2])
			r.folded[m[1]] += n
			continue
		}
		if strings.HasPrefix(at, "    taken ") && len(r.claims) > 0 {
			r.claims[len(r.claims)-1].taken = true
		}
		if m := migrated.FindStringSubmatch(at); m != nil {
			r.counts["configured"], _ = strconv.Atoi(m[1])
		}
		if !summary.MatchString(at) {
			continue
		}
		counted, _, _ := strings.Cut(at, ";")
		for part := range strings.SplitSeq(counted, ", ") {
			if m := count.FindStringSubmatch(part); m != nil {
				n, _ := strconv.Atoi(m[1])
				r.counts[m[2]] += n
			}
		}
	}
}

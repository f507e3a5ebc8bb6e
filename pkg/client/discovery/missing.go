package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Absent distinguishes a kind that is not served from an object that does not exist. An
// aggregated API may answer both with the same 404, which names nothing.
func (d *Discovery) Absent(ctx context.Context, kind object.Kind, err error) error {
	if d.known.terse.get(kind.GVK) {
		return err
	}
	l, asked := d.listed(ctx, kind.GVK.GroupVersion())
	if asked != nil {
		return asked
	}
	if _, missing := find(&l.kinds, kind.GVK); missing == nil {
		d.known.terse.put(kind.GVK, true)
		return err
	}
	return d.Gone(ctx, kind.GVK)
}

// errServedBefore makes the absence of a kind uncertain: one of several API servers may lag
// behind, or this one may be busy.
var errServedBefore = errors.New("it was served a moment ago")

// Gone returns the error for an answer by which the server no longer serves a kind: a *NoKindError,
// with a cause if that is uncertain. A caller may be waiting for just that, and a proxy in the
// server's place answers 404 too, so Gone asks for everything that is served. The kind may be
// listed at another version, in which the objects still exist.
func (d *Discovery) Gone(ctx context.Context, gvk schema.GroupVersionKind) error {
	d.known.kinds.entries.Delete(gvk)
	elsewhere, err := d.servedElsewhere(ctx, gvk)
	if against, ok := errors.AsType[*contradiction](err); ok {
		err = transport.NoAnswer(transport.Wrong("%s", against.text))
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && elsewhere.Empty() && d.NewlyServed(gvk):
		err = transport.NoAnswer(errServedBefore)
	case err == nil && !elsewhere.Empty():
		err = object.Hinted("its objects are still there, under that version",
			"it does in %s", elsewhere)
	}
	return &NoKindError{GVK: gvk, Err: err}
}

// contradiction says that the server's answers about what it serves disagree.
type contradiction struct{ text string }

func (e *contradiction) Error() string { return e.text }

// servedElsewhere returns another version at which the server serves a kind that was not found;
// empty if there is none. It asks until the answers agree, since they lag when a CRD comes or goes.
// If they never do, the error is a *contradiction.
func (d *Discovery) servedElsewhere(ctx context.Context, gvk schema.GroupVersionKind) (other schema.GroupVersion, err error) {
	ended := until(ctx, d.timeout, func() bool {
		var now *served
		if now, err = d.everything(ctx); err == nil {
			other, err = now.elsewhere(gvk)
		}
		return !errors.As(err, new(*contradiction))
	})
	return other, cmp.Or(ended, err)
}

// elsewhere returns another version of a kind.
func (s *served) elsewhere(gvk schema.GroupVersionKind) (schema.GroupVersion, error) {
	if gvk.Group == "" && s.lists[gvk.GroupVersion()] == nil {
		return schema.GroupVersion{}, &contradiction{"the core kinds are not listed"}
	}
	if errors.As(s.failed[gvk.GroupVersion()], new(discovery.StaleGroupVersionError)) {
		return schema.GroupVersion{}, errDeadAPI // Such versions are not among the group's.
	}
	for _, group := range s.groups.Groups {
		if group.Name != gvk.Group {
			continue
		}
		for _, v := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
			switch err := s.failed[gv]; {
			case apierrors.IsNotFound(err):
				return schema.GroupVersion{}, &contradiction{fmt.Sprintf("%s is listed among the versions, but not found", gv)}
			case err != nil:
				return schema.GroupVersion{}, err
			}
			switch served := s.has(gv.WithKind(gvk.Kind)); {
			case served && gv == gvk.GroupVersion():
				return schema.GroupVersion{}, &contradiction{"it is listed among the kinds, but not found"}
			case served:
				return gv, nil
			}
		}
	}
	return schema.GroupVersion{}, nil
}

// has reports whether the lists have a kind.
func (s *served) has(gvk schema.GroupVersionKind) bool {
	list := s.lists[gvk.GroupVersion()]
	if list == nil {
		return false
	}
	_, err := find(list, gvk)
	return err == nil
}

// Elsewhere returns the served versions of a kind that is not served at the requested one. An
// object whose manifest has an old version may exist under a newer one. For extensions, the former
// group of many of Kubernetes' own kinds, it searches other groups too.
func (d *Discovery) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := d.search(ctx, "", func(t catalogue) error {
		served = t.elsewhere(gvk)
		return nil
	})
	return served, err
}

func (t catalogue) elsewhere(gvk schema.GroupVersionKind) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, group := range t.groups {
		if group.Group.Name != gvk.Group && (gvk.Group != "extensions" || !object.IsReserved(group.Group.Name)) {
			continue
		}
		for _, v := range group.Group.Versions {
			gv := schema.GroupVersion{Group: group.Group.Name, Version: v.Version}
			_, err := find(&metav1.APIResourceList{APIResources: group.VersionedResources[v.Version]}, gv.WithKind(gvk.Kind))
			if err == nil && gv != gvk.GroupVersion() {
				served = append(served, gv)
			}
		}
	}
	return served
}

// Unserved says why the server does not serve a kind, as far as that can be known: in
// which release of Kubernetes it was removed, and in which versions this server has it.
// It returns a *NoKindError, or an *UntoldKindError if the server lists the group version
// but does not find it, as when something else answers for the server behind an API, or lists it as
// one whose server does not answer; or the error of asking for the kind. It asks for everything that the server serves, until its answers agree, so call it only for
// a kind that is missing for good.
func (d *Discovery) Unserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	none := &NoKindError{GVK: gvk}
	_, err := d.Kind(ctx, gvk)
	known, ok := errors.AsType[*NoKindError](err)
	switch {
	case ok:
		none.Near = known.Near
	case err != nil: // Without an answer, the kind may exist.
		return err
	}
	notice := d.deprecated(ctx, gvk)
	use := d.servedSuccessor(ctx, notice.Use)
	if use.Empty() {
		served, err := d.servedElsewhere(ctx, gvk)
		if ctx.Err() == nil && (errors.As(err, new(*contradiction)) || errors.Is(err, errDeadAPI)) {
			return &UntoldKindError{GVK: gvk, Err: err}
		}
		if err != nil {
			return none // Known causes are still reported.
		}
		if !served.Empty() {
			use = served.WithKind(gvk.Kind)
		}
	}
	var said []string
	if notice.Gone {
		said = append(said, "removed in "+notice.Removed.String())
	}
	hint := ""
	switch {
	case !use.Empty():
		said = append(said, fmt.Sprintf("this server has %s in %s", use.Kind, use.GroupVersion()))
		hint = "change apiVersion to " + use.GroupVersion().String()
		if use.Kind != gvk.Kind {
			hint += ", and kind to " + use.Kind
		}
	case notice.Gone:
		said = append(said, "this server has no replacement")
		hint = "remove it from the manifests"
	default:
		if refused := d.known.refused.get(gvk); refused != nil {
			none.Err = &object.HintedError{Err: refused, Advice: refused.Hint()}
		}
		return none
	}
	none.Err = &object.HintedError{Err: errors.New(strings.Join(said, "; ")), Advice: hint}
	return none
}

// deprecated returns what this server's release knows about a deprecated kind of Kubernetes.
func (d *Discovery) deprecated(ctx context.Context, gvk schema.GroupVersionKind) deprecation.Notice {
	if _, ok := deprecation.Builtin(gvk); !ok {
		return deprecation.Notice{}
	}
	info, err := d.Version(ctx)
	if err != nil {
		return deprecation.Notice{}
	}
	release, _ := deprecation.Server(*info) // An unknown release gives no advice.
	notice, _ := deprecation.Check(gvk, release)
	return notice
}

// servedSuccessor returns the kind if the server has it: the table knows releases, but not how this
// server is configured.
func (d *Discovery) servedSuccessor(ctx context.Context, use schema.GroupVersionKind) schema.GroupVersionKind {
	if use.Empty() {
		return use
	}
	if _, err := d.Kind(ctx, use); err != nil {
		return schema.GroupVersionKind{}
	}
	return use
}

// unseenFor is how long to wait for a kind without the right to read CRDs. A quiet server needs 10
// to 60 ms.
const unseenFor = 2 * time.Second

// Upcoming waits for a kind whose CRD is in the cluster and that is not served yet, since the
// server takes a while to serve a stored CRD (edge case 18, between two runs). It waits as long as
// it would for the server itself, and first calls tell with the CRD's name.
//
// Without the right to read CRDs it waits briefly, or not at all if a served kind has nearly the
// same name. The error is a *NoKindError if nothing says that the kind will come, or if it did not.
func (d *Discovery) Upcoming(ctx context.Context, gvk schema.GroupVersionKind, tell func(definition string)) (object.Kind, error) {
	kind, list, err := d.live(ctx, gvk, d.listedNow)
	missing, ok := errors.AsType[*NoKindError](err)
	switch {
	case err == nil: // The cached list of all kinds is older.
		d.Know(kind, true)
		d.cache.see(gvk.GroupVersion(), list)
		return kind, nil
	case !ok:
		return kind, err
	}
	definition, err := d.definitionOf(ctx, gvk)
	switch {
	case ctx.Err() != nil:
		return kind, context.Cause(ctx)
	case transport.Denied(err) && missing.Near == "":
		return d.Served(ctx, gvk, min(d.timeout, unseenFor))
	case err != nil, definition == "":
		return kind, missing
	}
	tell(definition)
	err = d.Established(ctx, definition)
	if refused, ok := errors.AsType[*NotEstablishedError](err); ok {
		d.known.refused.put(gvk, refused)
		return kind, missing
	}
	if err != nil {
		return kind, err
	}
	return d.Served(ctx, gvk, 0)
}

// Served waits until the server serves the kind: for the given time or, if that is 0, as long as it
// would for the server itself. A CRD that is Established may not be served yet
// (apiextensions-apiserver#5; edge case 18): only a request for the kind shows that. The answer is
// cached for the next run.
func (d *Discovery) Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (kind object.Kind, err error) {
	var list *metav1.APIResourceList
	ended := until(ctx, cmp.Or(within, d.timeout), func() bool {
		kind, list, err = d.live(ctx, gvk, d.listedNow)
		return !errors.As(err, new(*NoKindError)) && !errors.As(err, new(*UntoldKindError)) // An aggregated API does not answer until its Pods are ready.
	})
	if err = cmp.Or(ended, err); err != nil {
		return object.Kind{}, err
	}
	d.Know(kind, true)
	d.cache.see(gvk.GroupVersion(), list)
	return kind, nil
}

// isNear reports whether a type was probably meant.
func isNear(typed string, gr schema.GroupResource, r metav1.APIResource) bool {
	wanted, group, _ := strings.Cut(strings.ToLower(typed), ".")
	// With another group, the user means another kind, which may be yet to come.
	if group != "" && !sameGroup(group, gr.Group) {
		return false
	}
	names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
	return slices.ContainsFunc(names, func(known string) bool { return text.Similar(wanted, known) })
}

// nearKind returns the similar kind of a group version.
func nearKind(list *metav1.APIResourceList, gvk schema.GroupVersionKind) string {
	var known []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			known = append(known, r.Kind)
		}
	}
	return text.Nearest(gvk.Kind, known)
}

// sameGroup reports whether the text after the name of a type, a group with or without a version,
// probably means the group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || typed != "" && strings.HasPrefix(group, typed+".") || isSlip(typed, group)
}

// isSlip reports whether a group is mistyped. Groups of one owner differ in a word, or in a letter
// of a short one: ecs.aws.upbound.io is no slip of ecr.aws.upbound.io.
func isSlip(typed, group string) bool {
	const most, letters = 2, 4 // edits in all, and letters of a word for each
	one, other := strings.Split(typed, "."), strings.Split(group, ".")
	if len(one) != len(other) {
		return strings.Join(one, "") == strings.Join(other, "") // a dot too many or too few
	}
	edits := 0
	for i := range one {
		n := text.Edits(one[i], other[i])
		if n > max(len(one[i]), len(other[i]))/letters {
			return false
		}
		edits += n
	}
	return edits <= most
}

var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

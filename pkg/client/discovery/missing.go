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

// Absent returns the error for a 404 that does not name an object. An aggregated API may send such
// a 404 for a kind that it serves, so Absent asks whether the server serves the kind.
func (d *Discovery) Absent(ctx context.Context, kind object.Kind, err error) error {
	if d.known.terse.get(kind.GVK) {
		return err
	}
	list, asked := d.listed(ctx, kind.GVK.GroupVersion())
	if asked != nil {
		return asked
	}
	if _, missing := find(list, kind.GVK); missing == nil {
		d.known.terse.put(kind.GVK, true)
		return err
	}
	return d.Gone(ctx, kind.GVK)
}

// errServedBefore says that the kind may still exist: it was served earlier in this run, and one of
// several API servers may lag behind.
var errServedBefore = errors.New("it was served a moment ago")

// Gone returns the error to report when a response says that a kind is no longer served. The error
// is a *NoKindError unless ctx is done. Its Err is set if the kind's objects may still exist, for
// example at another version of the kind. A proxy may have sent the response, and a caller may be
// waiting for the kind to disappear, so Gone asks for everything that the server serves.
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
		err = servedAt(elsewhere)
	}
	return &NoKindError{GVK: gvk, Err: err}
}

type contradiction struct{ text string }

func (e *contradiction) Error() string { return e.text }

// servedElsewhere returns another version at which the server serves a kind, or none. After a CRD
// was created or deleted, answers may disagree for a while, so servedElsewhere asks until they
// agree. If they never do, the error is a *contradiction.
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

func (s *served) elsewhere(gvk schema.GroupVersionKind) (schema.GroupVersion, error) {
	if gvk.Group == "" && s.lists[gvk.GroupVersion()] == nil {
		return schema.GroupVersion{}, &contradiction{"the core kinds are not listed"}
	}
	if errors.As(s.failed[gvk.GroupVersion()], new(discovery.StaleGroupVersionError)) {
		return schema.GroupVersion{}, errDeadAPI // The group does not list a version whose server does not answer.
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
			list := s.lists[gv]
			if list == nil {
				continue
			}
			switch _, missing := find(list, gv.WithKind(gvk.Kind)); {
			case missing != nil:
			case gv == gvk.GroupVersion():
				return schema.GroupVersion{}, &contradiction{"it is listed among the kinds, but not found"}
			default:
				return gv, nil
			}
		}
	}
	return schema.GroupVersion{}, nil
}

// Elsewhere returns the other versions at which the server serves a kind. An object may exist at a
// newer version than in its manifest. Many of Kubernetes' own kinds were once in the group
// extensions. For that group, Elsewhere also searches other groups.
func (d *Discovery) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	if !object.IsBuiltIn(gvk.Group) { // An old list may lack a version that a CRD has since.
		if err := d.refresh(ctx); err != nil {
			return nil, err
		}
	}
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

// Unserved explains why the server does not serve a kind: in which release of Kubernetes it was
// removed, and at which versions this server has it.
//
// The error is a *NoKindError or the error from [Discovery.Kind]. It is an *KindUnknownError if the
// responses contradict each other, or if the server behind the API does not answer. Unserved waits
// until the responses agree, so call it only for a kind that will not be served soon.
func (d *Discovery) Unserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	none := &NoKindError{GVK: gvk}
	_, err := d.Kind(ctx, gvk)
	known, ok := errors.AsType[*NoKindError](err)
	switch {
	case ok:
		none.Near = known.Near
	case err != nil:
		return err
	}
	notice := d.deprecated(ctx, gvk)
	use := d.servedSuccessor(ctx, notice.Use)
	if use.Empty() {
		served, err := d.servedElsewhere(ctx, gvk)
		if ctx.Err() == nil && (errors.As(err, new(*contradiction)) || errors.Is(err, errDeadAPI)) {
			return &KindUnknownError{GVK: gvk, Err: err}
		}
		if err != nil {
			return none
		}
		if !served.Empty() {
			use = served.WithKind(gvk.Kind)
		}
	}
	var message []string
	if notice.Gone {
		message = append(message, "removed in "+notice.Removed.String())
	}
	hint := ""
	switch {
	case !use.Empty():
		message = append(message, fmt.Sprintf("this server has %s in %s", use.Kind, use.GroupVersion()))
		hint = "change apiVersion to " + use.GroupVersion().String()
		if use.Kind != gvk.Kind {
			hint += ", and kind to " + use.Kind
		}
	case notice.Gone:
		message = append(message, "this server has no replacement")
		hint = "remove it from the manifests"
	default:
		if refused := d.known.refused.get(gvk); refused != nil {
			none.Err = &object.HintedError{Err: refused, Advice: refused.Hint()}
		}
		return none
	}
	none.Err = &object.HintedError{Err: errors.New(strings.Join(message, "; ")), Advice: hint}
	return none
}

func (d *Discovery) deprecated(ctx context.Context, gvk schema.GroupVersionKind) deprecation.Notice {
	if _, ok := deprecation.Builtin(gvk); !ok {
		return deprecation.Notice{}
	}
	info, err := d.Version(ctx)
	if err != nil {
		return deprecation.Notice{}
	}
	release, _ := deprecation.Server(*info)
	notice, _ := deprecation.Check(gvk, release)
	return notice
}

// servedSuccessor asks the server, because the table of deprecations does not say which kinds this
// server serves.
func (d *Discovery) servedSuccessor(ctx context.Context, use schema.GroupVersionKind) schema.GroupVersionKind {
	if use.Empty() {
		return use
	}
	if _, err := d.Kind(ctx, use); err != nil {
		return schema.GroupVersionKind{}
	}
	return use
}

// unseenFor is how long to wait for a kind if we have no permission to read CRDs. A lightly loaded
// server needs 10 to 60 ms.
const unseenFor = 2 * time.Second

// Upcoming waits for a kind whose CRD exists, but which the server does not serve yet (edge case
// 18). It first calls tell with the name of the CRD. It waits at most Options.Timeout for the API
// server to accept the CRD, and then at most as long again for the kind to be served.
//
// If we have no permission to read CRDs, it waits briefly, or not at all if a served kind has
// almost the same name. The error is a *NoKindError if there is no CRD, or if the kind was not
// served in time.
func (d *Discovery) Upcoming(ctx context.Context, gvk schema.GroupVersionKind, report func(definition string)) (object.Kind, error) {
	kind, list, err := d.live(ctx, gvk, d.listedNow)
	missing, ok := errors.AsType[*NoKindError](err)
	switch {
	case err == nil:
		d.Know(kind, true)
		d.cache.learn(gvk.GroupVersion(), list)
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
	report(definition)
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

// Served waits until the server serves the kind. A CRD may be Established before the server serves
// it (apiextensions-apiserver#5; edge case 18). Served waits for at most the given time (within); 0
// means Options.Timeout.
func (d *Discovery) Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (kind object.Kind, err error) {
	var list *metav1.APIResourceList
	ended := until(ctx, cmp.Or(within, d.timeout), func() bool {
		kind, list, err = d.live(ctx, gvk, d.listedNow)
		return !errors.As(err, new(*NoKindError)) && !errors.As(err, new(*KindUnknownError)) // An aggregated API answers once its Pods are ready.
	})
	if err = cmp.Or(ended, err); err != nil {
		return object.Kind{}, err
	}
	d.Know(kind, true)
	d.cache.learn(gvk.GroupVersion(), list)
	return kind, nil
}

func isNear(typed string, gr schema.GroupResource, r metav1.APIResource) bool {
	wanted, group, _ := strings.Cut(strings.ToLower(typed), ".")
	// If the group differs, the user means a different kind, which may be created later.
	if group != "" && !sameGroup(group, gr.Group) {
		return false
	}
	names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
	return slices.ContainsFunc(names, func(known string) bool { return text.Similar(wanted, known) })
}

func nearKind(list *metav1.APIResourceList, gvk schema.GroupVersionKind) string {
	var known []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			known = append(known, r.Kind)
		}
	}
	return text.Nearest(gvk.Kind, known)
}

// sameGroup reports whether the user may mean the group. typed is the part of a TYPE after the
// first dot: a group, or a version and a group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || typed != "" && strings.HasPrefix(group, typed+".") || isTypo(typed, group)
}

// isTypo reports whether typed is a misspelling of group. It is strict, because groups of one owner
// often differ only in one word, or in one letter of a short word: ecs.aws.upbound.io is not a
// misspelling of ecr.aws.upbound.io.
func isTypo(typed, group string) bool {
	const most, letters = 2, 4 // maximum number of edits, and number of letters that a word needs for each of its edits
	one, other := strings.Split(typed, "."), strings.Split(group, ".")
	if len(one) != len(other) {
		return strings.Join(one, "") == strings.Join(other, "") // they differ only in their dots
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

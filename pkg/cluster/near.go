package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/spelling"
)

// NoTypeError says that the server serves nothing by the name of a type.
type NoTypeError struct {
	// Type is what was asked for.
	Type string
	// Near are the types that were probably meant.
	Near []string
	// Err is why it can not be told for sure; nil where it can.
	Err error
}

func (e *NoTypeError) Error() string {
	text := fmt.Sprintf("the server serves no type %q", e.Type)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *NoTypeError) Unwrap() error { return e.Err }

// Is makes [meta.IsNoMatchError] true for it.
func (e *NoTypeError) Is(target error) bool {
	_, ok := target.(*meta.NoResourceMatchError)
	return ok
}

// Hint says which type was probably meant.
func (e *NoTypeError) Hint() string {
	if len(e.Near) == 0 {
		return "see: " + command.Kubectl("api-resources")
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// near returns the types that were probably meant.
func (t catalogue) near(text string) []string {
	wanted, group, _ := strings.Cut(strings.ToLower(text), ".")
	return t.names(func(gr schema.GroupResource, r metav1.APIResource) []string {
		// Who names another group means another kind, which may be yet to come.
		if group != "" && !sameGroup(group, gr.Group) {
			return nil
		}
		for _, known := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
			if spelling.Similar(wanted, known) {
				return []string{gr.String()}
			}
		}
		return nil
	})
}

// nearKind returns the kind of a group version that was probably meant by one that it
// does not have.
func nearKind(list *metav1.APIResourceList, gvk schema.GroupVersionKind) string {
	var known []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			known = append(known, r.Kind)
		}
	}
	return spelling.Nearest(gvk.Kind, known)
}

// Elsewhere returns the versions in which the server serves a kind that it does not
// serve in the one that is asked for. An object that was written down with a version
// of old may well be there, under a newer one. Of extensions, which is where many of
// Kubernetes' own kinds once were, other groups count, too.
func (c *Client) Elsewhere(ctx context.Context, gvk schema.GroupVersionKind) ([]schema.GroupVersion, error) {
	var served []schema.GroupVersion
	err := c.look(ctx, "", func(t catalogue) error {
		served = t.elsewhere(gvk)
		return nil
	})
	return served, err
}

func (t catalogue) elsewhere(gvk schema.GroupVersionKind) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, group := range t.groups {
		if group.Group.Name != gvk.Group && (gvk.Group != "extensions" || !kubernetesOwn(group.Group.Name)) {
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

// missing is the error that the server does not serve a kind any more. If it does so
// in another version, which it is asked for, the objects of the kind are still there.
func (c *Client) missing(ctx context.Context, gvk schema.GroupVersionKind) error {
	served, err := c.otherVersion(ctx, gvk)
	switch {
	case err != nil:
		return &NoKindError{GVK: gvk, Err: err}
	case served.Empty() && c.kinds.isYoung(gvk): // One of several API servers may be behind, or this one busy.
		return &NoKindError{GVK: gvk, Err: &noAnswerError{errServedBefore}}
	case served.Empty():
		return &NoKindError{GVK: gvk}
	}
	return &NoKindError{GVK: gvk, Err: &hintedError{
		err:  fmt.Errorf("it does in %s", served),
		hint: "its objects are still there, under that version",
	}}
}

// unlisted is missing for a kind of which only a request about its objects has told. It
// asks the server whether its own list of kinds lacks it, too. That list lags behind a
// definition that was deleted, and so is given time. Where it goes on naming the kind,
// something on the way said that there is none.
func (c *Client) unlisted(ctx context.Context, gvk schema.GroupVersionKind) error {
	pauses := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 2 * time.Second}
	for began := time.Now(); ; {
		_, err := c.live(ctx, gvk)
		pause := pauses.Step()
		switch {
		case errors.As(err, new(*NoKindError)):
			return c.missing(ctx, gvk)
		case err != nil:
			return &NoKindError{GVK: gvk, Err: err}
		case time.Since(began)+pause > c.timeout:
			return &NoKindError{GVK: gvk, Err: &noAnswerError{wrong("it is listed among the kinds, but not found")}}
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// otherVersion asks the server itself for another version of the group in which it
// serves the kind, the preferred one first; nothing if there is none.
func (c *Client) otherVersion(ctx context.Context, gvk schema.GroupVersionKind) (schema.GroupVersion, error) {
	group, err := c.groupNow(ctx, gvk.Group)
	if err != nil {
		return schema.GroupVersion{}, err
	}
	for _, v := range group.Versions {
		if v.Version == gvk.Version {
			continue
		}
		gv := schema.GroupVersion{Group: gvk.Group, Version: v.Version}
		_, err := c.live(ctx, gv.WithKind(gvk.Kind))
		switch {
		case err == nil:
			return gv, nil
		case !errors.As(err, new(*NoKindError)):
			return schema.GroupVersion{}, err
		}
	}
	return schema.GroupVersion{}, nil
}

var errServedBefore = errors.New("it was served a moment ago")

// groupNow asks the server for a group; without versions if it has none of that
// name. That something is not found says little, for whatever stands in the server's
// place says it of all it does not know: the list of all groups tells.
func (c *Client) groupNow(ctx context.Context, name string) (metav1.APIGroup, error) {
	var all metav1.APIGroupList
	err := c.do(ctx, request{ref: object.Ref{GVK: schema.GroupVersionKind{Group: name}}, bulk: true}, func(ctx context.Context) error {
		body, err := read(ctx, c.rest.Get().AbsPath("/apis"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &all); err != nil || all.Kind != "APIGroupList" {
			return wrong("/apis answers with a %s", all.Kind)
		}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return metav1.APIGroup{}, &noAnswerError{wrong("/apis is not found")}
	case err != nil:
		return metav1.APIGroup{}, err
	}
	for _, group := range all.Groups {
		if group.Name == name {
			return group, nil
		}
	}
	return metav1.APIGroup{}, nil
}

// sameGroup tells whether what was typed behind the name of a type, a group with
// or without a version before it, probably means the group.
func sameGroup(typed, group string) bool {
	if first, rest, _ := strings.Cut(typed, "."); versions.MatchString(first) {
		typed = rest
	}
	return typed == group || !strings.HasSuffix(typed, "."+group) && spelling.Similar(typed, group)
}

var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

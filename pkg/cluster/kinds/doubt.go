package kinds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// If a kind is not served, its objects are gone, and a caller may be waiting for just
// that. So a single answer is not trusted: the server says in several places what it
// serves, and all of them have to agree. They lag behind each other when a definition
// comes or goes, and get time for it.

var errServedBefore = errors.New("it was served a moment ago")

// contradiction says that the server's answers about what it serves differ from place to
// place.
type contradiction struct{ text string }

func (e *contradiction) Error() string { return e.text }

// unlisted is the error for a kind that the server no longer serves, according to a
// request for its objects. It has a cause if that is not certain: a proxy may have
// answered, or the server serves the kind in another version, in which the objects are
// still there. known is what the server listed just now; nil if it was not asked.
func (d *Discovery) unlisted(ctx context.Context, gvk schema.GroupVersionKind, known *listing) error {
	elsewhere, err := d.agreed(ctx, func() (schema.GroupVersion, error) {
		l := known
		if known = nil; l == nil {
			now, err := d.listed(ctx, gvk.GroupVersion())
			if err != nil {
				return schema.GroupVersion{}, err
			}
			l = &now
		}
		if _, err := find(&l.kinds, gvk); err == nil {
			return schema.GroupVersion{}, &contradiction{"it is listed among the kinds, but not found"}
		}
		return d.otherVersion(ctx, gvk, l.found)
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &NoKindError{GVK: gvk, Err: err}
	case elsewhere.Empty() && d.NewlyServed(gvk): // One of several API servers may lag behind, or this one may be busy.
		return &NoKindError{GVK: gvk, Err: request.NoAnswer(errServedBefore)}
	case elsewhere.Empty():
		return &NoKindError{GVK: gvk}
	}
	return &NoKindError{GVK: gvk, Err: &object.HintedError{
		Err:    fmt.Errorf("it does in %s", elsewhere),
		Advice: "its objects are still there, under that version",
	}}
}

// Doubt returns a reason to doubt that the server does not serve a kind that it does not
// list; nil if there is none. It asks for the objects themselves, in the namespace and in
// all namespaces: if a kind is served without being listed, they are there. The kind's
// name in paths is unknown then, so it is guessed.
func (d *Discovery) Doubt(ctx context.Context, gvk schema.GroupVersionKind, namespace string) error {
	_, err := d.agreed(ctx, func() (schema.GroupVersion, error) {
		l, err := d.listed(ctx, gvk.GroupVersion())
		if err != nil {
			return schema.GroupVersion{}, err
		}
		return d.otherVersion(ctx, gvk, l.found)
	})
	if err != nil {
		return err
	}
	for _, resource := range resourceNames(gvk.Kind) {
		for _, path := range paths(gvk, namespace, resource) {
			served, err := d.answers(ctx, gvk, path)
			switch {
			case err != nil:
				return err
			case served:
				return request.NoAnswer(answer.Wrong("it is not listed among the kinds, but found"))
			}
		}
	}
	return nil
}

// resourceNames are the probable names of a kind in paths.
func resourceNames(kind string) []string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	names := []string{plural.Resource}
	if lower := strings.ToLower(kind); strings.HasSuffix(lower, "y") { // gateways, for one
		names = append(names, lower+"s")
	}
	return names
}

func paths(gvk schema.GroupVersionKind, namespace, resource string) [][]string {
	all := [][]string{request.ResourcePath(object.Kind{GVK: gvk, Resource: resource}, "")}
	if namespace != "" {
		all = append(all, request.ResourcePath(object.Kind{GVK: gvk, Resource: resource, Namespaced: true}, namespace))
	}
	return all
}

// answers reports whether there is a list at a path. A forbidden answer says nothing,
// because the server authorizes a request before it looks at the path.
func (d *Discovery) answers(ctx context.Context, gvk schema.GroupVersionKind, path []string) (bool, error) {
	err := d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gvk}, Quiet: true, Bulk: true}, func(ctx context.Context) error {
		_, err := request.Read(ctx, listwatch.MetadataOnly(d.rest.Get().AbsPath(path...).Param("limit", "1")))
		return err
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil
	}
	return err == nil, err
}

// agreed asks until the answers no longer contradict each other. If they do so for as
// long as it would wait for the server itself, the result is unknown.
func (d *Discovery) agreed(ctx context.Context, ask func() (schema.GroupVersion, error)) (found schema.GroupVersion, err error) {
	ended := until(ctx, d.timeout, func() bool {
		found, err = ask()
		return !errors.As(err, new(*contradiction))
	})
	if against, ok := errors.AsType[*contradiction](err); ok {
		err = request.NoAnswer(answer.Wrong("%s", against.text))
	}
	return found, cmp.Or(ended, err)
}

// otherVersion asks the server itself for another version of the group in which it serves
// the kind, the preferred one first; empty if there is none. found: the kinds of the
// present version were listed.
func (d *Discovery) otherVersion(ctx context.Context, gvk schema.GroupVersionKind, found bool) (schema.GroupVersion, error) {
	group, err := d.groupNow(ctx, gvk.Group)
	if err != nil {
		return schema.GroupVersion{}, err
	}
	for _, v := range group.Versions {
		gv := schema.GroupVersion{Group: gvk.Group, Version: v.Version}
		l := listing{found: found}
		if gv != gvk.GroupVersion() {
			if l, err = d.listed(ctx, gv); err != nil {
				return schema.GroupVersion{}, err
			}
		}
		if !l.found {
			return schema.GroupVersion{}, &contradiction{fmt.Sprintf("%s is listed among the versions, but not found", gv)}
		}
		if _, err := find(&l.kinds, gv.WithKind(gvk.Kind)); err == nil {
			return gv, nil
		}
	}
	return schema.GroupVersion{}, nil
}

// groupNow asks the server for a group, and returns no versions if there is none of that
// name. A 404 says little, because anything in the server's place gives it for whatever
// it does not know; the list of all groups decides.
func (d *Discovery) groupNow(ctx context.Context, name string) (metav1.APIGroup, error) {
	var all metav1.APIGroupList
	err := d.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: schema.GroupVersionKind{Group: name}}, Bulk: true, Patience: forGroups}, func(ctx context.Context) error {
		body, err := request.Read(ctx, d.rest.Get().AbsPath("/apis"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &all); err != nil || all.Kind != "APIGroupList" {
			return answer.Wrong("/apis answers with a %s", all.Kind)
		}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return metav1.APIGroup{}, request.NoAnswer(answer.Wrong("/apis is not found"))
	case err != nil:
		return metav1.APIGroup{}, err
	case name == "": // It is not among the others, and every server has it.
		return metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "v1", Version: "v1"}}}, nil
	}
	for _, group := range all.Groups {
		if group.Name == name {
			return group, nil
		}
	}
	return metav1.APIGroup{}, nil
}

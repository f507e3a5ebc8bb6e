package client

import (
	"context"
	"encoding/json"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Permitted asks whether we may do what verb says with the object. It separates a missing
// permission from everything else that is answered as forbidden: a quota, an admission
// plugin, a namespace that is terminating.
func (c *Client) Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error) {
	return c.permitted(ctx, kind, "", verb, ref, func(ctx context.Context, send sending) error {
		return c.requests.Do(ctx, transport.Request{Ref: ref}, send)
	})
}

// permitted asks whether a user may do what verb says with the object; with an empty
// user, whether we may.
func (c *Client) permitted(ctx context.Context, kind object.Kind, user, verb string, ref object.Ref, do func(context.Context, sending) error) (bool, error) {
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: groupsOf(user),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: kind.GVK.Group, Version: kind.GVK.Version, Resource: kind.Resource,
				Namespace: ref.Namespace, Name: ref.Name, Verb: verb,
			},
		},
	}
	resource := "subjectaccessreviews"
	if user == "" {
		review.Kind, review.Spec.Groups = "SelfSubjectAccessReview", nil
		resource = "selfsubjectaccessreviews"
	}
	question, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	allowed := false
	err = do(ctx, func(ctx context.Context) error {
		body, err := transport.Read(ctx, c.rest.Post().AbsPath("/apis/authorization.k8s.io/v1", resource).Body(question))
		if err == nil {
			allowed, err = decision(body, review.Kind)
		}
		return err
	})
	return allowed, err
}

// decision reads the answer to a question for a permission.
func decision(body []byte, kind string) (allowed bool, err error) {
	var review struct {
		metav1.TypeMeta
		Status *struct{ Allowed *bool }
	}
	switch err := json.Unmarshal(body, &review); {
	case err != nil:
		return false, transport.Garbled(body)
	case review.Kind != kind, review.Status == nil, review.Status.Allowed == nil:
		return false, transport.Wrong("it is not a %s with a status", kind)
	}
	return *review.Status.Allowed, nil
}

// groupsOf returns the groups that the API server gives a user by its name: those
// of service accounts.
func groupsOf(user string) []string {
	const accounts = "system:serviceaccount:"
	groups := []string{"system:authenticated"}
	if account, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

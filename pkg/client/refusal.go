package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	admission "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// SilentWebhookError says that a write failed because a webhook did not answer.
type SilentWebhookError struct {
	// Backend names the webhook's service, and says what is wrong with it, if known. It is "outside
	// the cluster" if the webhook has no service.
	Webhook, Backend string
	Absent           bool
	See              string
	Objects          int
	Err              error
}

func (e *SilentWebhookError) Error() string {
	what := "the object"
	if e.Objects > 1 {
		what = fmt.Sprintf("%d objects", e.Objects)
	}
	text := fmt.Sprintf("webhook %s (%s) blocks %s", e.Webhook, e.Backend, what)
	if !e.Absent {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
}

func (e *SilentWebhookError) Unwrap() error { return e.Err }

// Of returns a copy of the error that applies to the given number of objects.
func (e *SilentWebhookError) Of(objects int) error {
	all := *e
	all.Objects = objects
	return &all
}

func (e *SilentWebhookError) Hint() string {
	if e.See == "" {
		return "try again once it answers"
	}
	return "try again once it answers; see: " + e.See
}

// ExplainRefusal finds the webhook that caused an internal error about an object of the kind. The
// server's message names the webhook. ExplainRefusal returns a *SilentWebhookError, or err
// unchanged if it finds no webhook.
func (c *Client) ExplainRefusal(ctx context.Context, kind object.Kind, err error) error {
	if !apierrors.IsInternalError(err) || errors.As(err, new(*SilentWebhookError)) {
		return err
	}
	c.hooks.once.Do(func() { c.hooks.hooks = c.admissionHooks(ctx) })
	for _, hook := range c.hooks.hooks {
		if !strings.Contains(err.Error(), fmt.Sprintf("%q", hook.name)) || !hook.matches(kind) {
			continue
		}
		out := &SilentWebhookError{Webhook: hook.name, Objects: 1, Err: err}
		out.Backend, out.See, out.Absent = c.backend(ctx, hook.client)
		return out
	}
	return err
}

func (c *Client) admissionHooks(ctx context.Context) []admissionHook {
	var validating admission.ValidatingWebhookConfigurationList
	var mutating admission.MutatingWebhookConfigurationList
	const group = "/apis/admissionregistration.k8s.io/v1"
	_ = c.fetch(ctx, &validating, group, "validatingwebhookconfigurations")
	_ = c.fetch(ctx, &mutating, group, "mutatingwebhookconfigurations")
	var hooks []admissionHook
	for _, configuration := range validating.Items {
		for _, w := range configuration.Webhooks {
			hooks = append(hooks, admissionHook{w.Name, w.ClientConfig, w.Rules})
		}
	}
	for _, configuration := range mutating.Items {
		for _, w := range configuration.Webhooks {
			hooks = append(hooks, admissionHook{w.Name, w.ClientConfig, w.Rules})
		}
	}
	return hooks
}

func (c *Client) fetch(ctx context.Context, into any, path ...string) error {
	return c.requests.Do(ctx, transport.Request{}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, c.rest.Get().AbsPath(path...))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, into)
	})
}

// backend returns the state of the backend, and a command to inspect it. absent means that the
// service does not exist or has no ready endpoint.
func (c *Client) backend(ctx context.Context, client admission.WebhookClientConfig) (state, see string, absent bool) {
	if client.Service == nil {
		return "outside the cluster", "", false
	}
	namespace, name := client.Service.Namespace, client.Service.Name
	what := "service " + namespace + "/" + name
	see = command.Kubectl("get") + " service,endpointslices,pods -n " + namespace
	var service struct{}
	switch err := c.fetch(ctx, &service, "/api/v1/namespaces", namespace, "services", name); {
	case apierrors.IsNotFound(err):
		return what + " does not exist", see, true
	case err != nil:
		return what, see, false
	}
	var published discoveryv1.EndpointSliceList
	if err := c.fetch(ctx, &published, "/apis/discovery.k8s.io/v1/namespaces", namespace, "endpointslices"); err != nil {
		return what, see, false
	}
	for _, s := range published.Items {
		if s.Labels[discoveryv1.LabelServiceName] == name && slices.ContainsFunc(s.Endpoints, isReady) {
			return what, see, false
		}
	}
	return what + " has no ready endpoint", see, true
}

func isReady(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

type admissionHooks struct {
	once  sync.Once
	hooks []admissionHook
}

type admissionHook struct {
	name   string
	client admission.WebhookClientConfig
	rules  []admission.RuleWithOperations
}

// matches reports whether the webhook's rules cover the kind. It ignores the version of the kind,
// because the server converts an object to a version that the webhook accepts.
func (h admissionHook) matches(kind object.Kind) bool {
	return slices.ContainsFunc(h.rules, func(rule admission.RuleWithOperations) bool {
		groups := slices.Contains(rule.APIGroups, kind.GVK.Group) || slices.Contains(rule.APIGroups, "*")
		return groups && slices.ContainsFunc(rule.Resources, func(resource string) bool {
			return resource == kind.Resource || resource == "*" || resource == "*/*" || resource == kind.Resource+"/*"
		})
	})
}

// Permitted reports whether we may use the verb on the object. Even if we have permission, a
// request may be Forbidden because of a quota, an admission plugin, or a terminating namespace.
func (c *Client) Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error) {
	return c.permitted(ctx, kind, "", verb, ref, func(ctx context.Context, send sending) error {
		return c.requests.Do(ctx, transport.Request{Ref: ref}, send)
	})
}

// permitted reports whether a user may use the verb on the object. An empty user means the current
// one.
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

// groupsOf returns the groups that the API server derives from the name of a user or service
// account.
func groupsOf(user string) []string {
	const accounts = "system:serviceaccount:"
	groups := []string{"system:authenticated"}
	if account, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

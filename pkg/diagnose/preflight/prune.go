package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Losses returns one remark for each pair of an object and a pruned object on which it depends. It
// sends no requests.
func Losses(objects []*unstructured.Unstructured, pruned []object.Ref) []event.Remarked {
	goes := map[object.Key]object.Ref{}
	for _, ref := range pruned {
		goes[ref.Key()] = ref
	}
	var out []event.Remarked
	for _, u := range objects {
		of := Object{Ref: object.RefOf(u), After: u}
		reported := map[object.Key]bool{}
		for _, n := range dependsOn(&of) {
			ref, lost := goes[n.ref.Key()]
			if !lost || reported[ref.Key()] {
				continue
			}
			reported[ref.Key()] = true
			r := event.Remarked{
				Ref: of.Ref, Code: "NeedsPruned", Path: n.path,
				Text: fmt.Sprintf("%s %s is no longer in the input and will be pruned, but this object still needs it", ref.GVK.Kind, text.Excerpt(ref.Name)),
				Hint: "put it back into the input, or change this object",
			}
			if n.with {
				r.Code = "GoesWithPruned"
				r.Text = fmt.Sprintf("will be deleted together with %s %s, which is no longer in the input and will be pruned", ref.GVK.Kind, text.Excerpt(ref.Name))
				r.Hint = "put it back into the input, or remove this object too"
			}
			out = append(out, r)
		}
	}
	return out
}

type dependency struct {
	need
	with bool
}

// dependsOn returns the objects that the object needs. with marks those whose deletion deletes it too, by the
// garbage collector or another controller.
func dependsOn(of *Object) []dependency {
	var all []dependency
	add := func(gvk schema.GroupVersionKind, namespace, name, path string, with bool) {
		if name != "" {
			all = append(all, dependency{need{object.Ref{GVK: gvk, Namespace: namespace, Name: name}, "", path}, with})
		}
	}
	u, namespace := of.After, of.Ref.Namespace
	if account := u.GetAnnotations()[corev1.ServiceAccountNameKey]; of.Ref.GVK.Kind == "Secret" && of.Ref.GVK.Group == "" {
		add(diagnose.KindOf("v1", "ServiceAccount"), namespace, account, `.metadata.annotations["`+corev1.ServiceAccountNameKey+`"]`, true)
	}
	for _, owner := range u.GetOwnerReferences() {
		add(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), namespace, owner.Name, ".metadata.ownerReferences", true)
	}
	if t, ok := templateOf(u); ok {
		t.of = of
		add(diagnose.KindOf("v1", "ServiceAccount"), namespace, t.spec.ServiceAccountName, t.path+".serviceAccountName", false)
		for _, n := range t.needs() {
			all = append(all, dependency{need: n})
		}
	}
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	switch of.Ref.GVK.GroupKind().String() {
	case "RoleBinding." + rbac.Group, "ClusterRoleBinding." + rbac.Group:
		kind, _, _ := unstructured.NestedString(u.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
		if kind == "ClusterRole" {
			namespace = ""
		}
		add(rbac.WithKind(kind), namespace, name, ".roleRef", false)
	case "Ingress.networking.k8s.io":
		for _, name := range backends(u) {
			add(diagnose.KindOf("v1", "Service"), namespace, name, ".spec.rules", false)
		}
	case "HorizontalPodAutoscaler.autoscaling":
		target, _, _ := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef")
		add(schema.FromAPIVersionAndKind(target["apiVersion"], target["kind"]), namespace, target["name"], ".spec.scaleTargetRef", false)
	}
	return all
}

func backends(u *unstructured.Unstructured) []string {
	var all []string
	add := func(fields any) {
		backend, _ := fields.(map[string]any)
		name, _, _ := unstructured.NestedString(backend, "service", "name")
		all = append(all, name)
	}
	spec, _ := u.Object["spec"].(map[string]any)
	add(spec["defaultBackend"])
	rules, _, _ := unstructured.NestedSlice(spec, "rules")
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
		for _, path := range paths {
			path, _ := path.(map[string]any)
			add(path["backend"])
		}
	}
	return all
}

const (
	// Facts that would exceed these limits stay unknown.
	requests = 60
	within   = 8 * time.Second
)

// Foresee returns remarks about what will not work in the set. With a nil reader, it sends no
// requests. If ctx ends, it uses the facts read so far.
func Foresee(ctx context.Context, reader diagnose.Reader, of Set) []event.Remarked {
	if !slices.ContainsFunc(of.Objects, func(o Object) bool { return o.Changes && Concerns(o.Ref) }) {
		return nil
	}
	s, facts := newSet(of), diagnose.NewFacts()
	if reader != nil {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		g := diagnose.Gatherer{Reader: keysOnly{reader}, Budget: requests}
		_ = g.Fill(ctx, facts, func(r *diagnose.Run) { (&view{r, s}).remarks() }) // Unknown facts lead to no remark.
	}
	return (&view{diagnose.NewRun(time.Now(), facts), s}).remarks()
}

func (v *view) remarks() []event.Remarked {
	found := slices.Concat(
		v.references(), v.accounts(), v.pullSecrets(), variables(v.set), v.volumes(), v.quotas(), v.budgets(), v.services(), v.replicas(),
	)
	places := map[object.Key]int{}
	for i, o := range v.set.objects {
		places[o.Ref.Key()] = i
	}
	slices.SortStableFunc(found, func(a, b event.Remarked) int { return places[a.Ref.Key()] - places[b.Ref.Key()] })
	return found
}

type keysOnly struct{ diagnose.Reader }

func (k keysOnly) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := k.Reader.Get(ctx, gvk, namespace, name)
	if u == nil || gvk != diagnose.KindOf("v1", "Secret") {
		return u, err
	}
	keys := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{}}}
	keys.SetGroupVersionKind(gvk)
	keys.SetNamespace(namespace)
	keys.SetName(name)
	keys.SetOwnerReferences(u.GetOwnerReferences())
	keys.SetLabels(u.GetLabels())
	noted := map[string]string{} // The last-applied configuration contains the values too.
	for name := range u.GetAnnotations() {
		noted[name] = ""
	}
	keys.SetAnnotations(noted)
	for key := range keysOf(u) {
		keys.Object["data"].(map[string]any)[key] = ""
	}
	return keys, err
}

// Kept is an unchanged object whose image may be outdated, because nodes do not pull a tag that
// they already have.
type Kept struct {
	Ref   object.Ref
	Image string
}

// KeptImage returns the unchanged object's first image that may be outdated; false if there is
// none.
func KeptImage(u *unstructured.Unstructured) (Kept, bool) {
	t, ok := templateOf(u)
	if kind := u.GetKind(); !ok || kind == "Pod" || kind == "Job" {
		return Kept{}, false // Pods and Jobs do not run again.
	}
	for _, c := range slices.Concat(t.spec.InitContainers, t.spec.Containers) {
		if strings.Contains(c.Image, "://") {
			continue // It is a placeholder that a tool replaces, such as ko://example.com/cmd/web.
		}
		tag := tagOf(c.Image)
		policy := c.ImagePullPolicy
		if policy == "" && tag != "latest" {
			policy = corev1.PullIfNotPresent // The server's default.
		}
		if isMoving(tag) && policy == corev1.PullIfNotPresent {
			return Kept{object.RefOf(u), c.Image}, true
		}
	}
	return Kept{}, false
}

// ImagesMayBeOld returns one remark about all kept images, if there are any.
func ImagesMayBeOld(kept []Kept) (event.Remarked, bool) {
	if len(kept) == 0 {
		return event.Remarked{}, false
	}
	first := slices.MinFunc(kept, func(a, b Kept) int { return a.Ref.Compare(b.Ref) })
	which := fmt.Sprintf("%s is unchanged, so its", first.Ref)
	if more := len(kept) - 1; more > 0 {
		which = fmt.Sprintf("%s and %s are unchanged, so their", first.Ref, text.Count(more, "more object"))
	}
	return event.Remarked{
		Code: "ImageMayBeOld",
		Text: which + fmt.Sprintf(" Pods keep the image that they have: if %s was pushed again, nodes that already have it will not pull it again (imagePullPolicy IfNotPresent)", text.Excerpt(first.Image)),
		Hint: "give each image its own tag, or use its digest (name@sha256:…)",
	}, true
}

func tagOf(image string) string {
	if strings.Contains(image, "@") {
		return ""
	}
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		return image[at+1:]
	}
	return "latest"
}

// isMoving reports whether a tag is a word (main, dev, latest) or a snapshot, and not a version,
// date or commit.
func isMoving(tag string) bool {
	return strings.Contains(strings.ToLower(tag), "snapshot") || tag != "" && !strings.ContainsAny(tag, "0123456789")
}

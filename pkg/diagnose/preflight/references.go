package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type need struct {
	ref  object.Ref
	key  string
	path string
}

func (v *view) references() []event.Remarked {
	type lack struct {
		ref object.Ref
		key string
	}
	var order []lack
	found, more := map[lack]event.Remarked{}, map[lack]map[object.Key]bool{}
	for _, t := range v.set.fresh() {
		for _, n := range t.needs() {
			r, lacking := v.lacking(t, n)
			if !lacking {
				continue
			}
			l := lack{n.ref, n.key}
			if strings.HasSuffix(r.Code, "Missing") && !strings.HasSuffix(r.Code, "KeyMissing") {
				l.key = ""
			}
			if _, reported := found[l]; !reported {
				found[l], more[l] = r, map[object.Key]bool{}
				order = append(order, l)
			} else if t.of.Ref != found[l].Ref {
				more[l][t.of.Ref.Key()] = true
			}
		}
	}
	var out []event.Remarked
	for _, l := range order {
		r := found[l]
		r.Text += others(len(more[l]), "object", "need")
		out = append(out, r)
	}
	return out
}

func (v *view) lacking(t template, n need) (event.Remarked, bool) {
	kind := n.ref.GVK.Kind
	r := event.Remarked{Ref: t.of.Ref, Path: n.path}
	there, sure := v.exists(n.ref)
	inEveryNamespace := []string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert", "default"} // by controllers
	switch {
	case !sure, slices.Contains(inEveryNamespace, n.ref.Name), v.set.mayBring(n.ref, t.of):
		return r, false
	case !there && kind == "PersistentVolumeClaim":
		if v.makesClaim(n.ref) {
			return r, false
		}
		r.Code = "ClaimMissing"
		r.Text = fmt.Sprintf("PersistentVolumeClaim %s does not exist, and nothing in this set creates it: its Pods cannot start before it exists", text.Excerpt(n.ref.Name))
		r.Hint = "add the claim to the set, or correct the name"
		return r, true
	case !there:
		r.Code = kind + "Missing"
		r.Text = fmt.Sprintf("%s %s does not exist, and nothing in this set creates it: the containers that need it cannot start before it exists", kind, text.Excerpt(n.ref.Name))
		r.Hint = fmt.Sprintf("add the %s to the set, correct the name, or set optional: true", kind)
		return r, true
	case n.key == "":
		return r, false
	}
	keys, sure := v.keys(n.ref)
	if _, has := keys[n.key]; !sure || has || len(keys) == 0 { // An empty object may be filled later.
		return r, false
	}
	r.Code = kind + "KeyMissing"
	r.Text = fmt.Sprintf("%s %s has no key %s: the containers that need it cannot start", kind, text.Excerpt(n.ref.Name), text.Excerpt(n.key))
	r.Hint = fmt.Sprintf("add the key to the %s, or correct its name", kind)
	if near := text.Nearest(n.key, names(keys)); near != "" {
		r.Hint = "did you mean " + near + "?"
	}
	return r, true
}

func (v *view) keys(ref object.Ref) (map[string]bool, bool) {
	o := v.set.find(ref)
	switch {
	case o == nil, !o.Changes:
		u, sure := v.Get(ref.GVK, ref.Namespace, ref.Name)
		if u == nil || isFilledByOthers(u) {
			return nil, false
		}
		keys := keysOf(u)
		if o != nil {
			for key := range keysOf(o.After) {
				keys[key] = true
			}
		}
		return keys, sure
	case isFilledByOthers(o.After):
		return nil, false
	default:
		return keysOf(o.After), true
	}
}

func keysOf(u *unstructured.Unstructured) map[string]bool {
	keys := map[string]bool{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		values, _ := u.Object[field].(map[string]any)
		for key := range values {
			keys[key] = true
		}
	}
	return keys
}

func (t template) needs() []need {
	var all []need
	add := func(kind, name, key, path string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			all = append(all, need{diagnose.RefOf("v1", kind, t.of.Ref.Namespace, name), key, t.path + path})
		}
	}
	for _, vol := range t.spec.Volumes {
		at := fmt.Sprintf(".volumes[name=%q]", vol.Name)
		switch {
		case vol.Secret != nil:
			ofItems(vol.Secret.Items, func(key string) { add("Secret", vol.Secret.SecretName, key, at+".secret", vol.Secret.Optional) })
		case vol.ConfigMap != nil:
			ofItems(vol.ConfigMap.Items, func(key string) { add("ConfigMap", vol.ConfigMap.Name, key, at+".configMap", vol.ConfigMap.Optional) })
		case vol.Projected != nil:
			for _, source := range vol.Projected.Sources {
				if from := source.Secret; from != nil {
					ofItems(from.Items, func(key string) { add("Secret", from.Name, key, at+".projected.sources", from.Optional) })
				}
				if from := source.ConfigMap; from != nil {
					ofItems(from.Items, func(key string) { add("ConfigMap", from.Name, key, at+".projected.sources", from.Optional) })
				}
			}
		case vol.PersistentVolumeClaim != nil && !slices.Contains(ownClaims(t.of.After), vol.Name):
			add("PersistentVolumeClaim", vol.PersistentVolumeClaim.ClaimName, "", at+".persistentVolumeClaim", nil)
		}
	}
	t.visitContainers(func(c corev1.Container, at string) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				add("Secret", from.SecretRef.Name, "", at+".envFrom", from.SecretRef.Optional)
			}
			if from.ConfigMapRef != nil {
				add("ConfigMap", from.ConfigMapRef.Name, "", at+".envFrom", from.ConfigMapRef.Optional)
			}
		}
		for _, env := range c.Env {
			at := fmt.Sprintf("%s.env[name=%q].valueFrom", at, env.Name)
			switch from := env.ValueFrom; {
			case from == nil:
			case from.SecretKeyRef != nil:
				add("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, at+".secretKeyRef", from.SecretKeyRef.Optional)
			case from.ConfigMapKeyRef != nil:
				add("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, at+".configMapKeyRef", from.ConfigMapKeyRef.Optional)
			}
		}
	})
	return all
}

func (t template) visitContainers(visit func(c corev1.Container, at string)) {
	for _, c := range t.spec.InitContainers {
		visit(c, fmt.Sprintf(".initContainers[name=%q]", c.Name))
	}
	for _, c := range t.spec.Containers {
		visit(c, fmt.Sprintf(".containers[name=%q]", c.Name))
	}
}

func ofItems(items []corev1.KeyToPath, visit func(key string)) {
	if len(items) == 0 {
		visit("")
	}
	for _, item := range items {
		visit(item.Key)
	}
}

func (v *view) accounts() []event.Remarked {
	var out []event.Remarked
	reported := map[object.Key]bool{}
	inEveryNamespace := []string{"default", "builder", "deployer", "pipeline"} // by controllers
	for _, t := range v.set.fresh() {
		name := t.spec.ServiceAccountName
		ref := diagnose.RefOf("v1", "ServiceAccount", t.of.Ref.Namespace, name)
		if name == "" || slices.Contains(inEveryNamespace, name) || reported[ref.Key()] {
			continue
		}
		if there, sure := v.exists(ref); !sure || there || v.set.mayBring(ref, t.of) {
			continue
		}
		reported[ref.Key()] = true
		out = append(out, event.Remarked{
			Ref: t.of.Ref, Code: "ServiceAccountMissing", Path: t.path + ".serviceAccountName",
			Text: fmt.Sprintf("ServiceAccount %s does not exist, and nothing in this set creates it: no Pod can be created before it exists", text.Excerpt(name)),
			Hint: "add the ServiceAccount to the set, or correct the name",
		})
	}
	return out
}

// pullSecrets reports images in private registries if none of their pull Secrets exists. One of
// these Secrets is enough.
func (v *view) pullSecrets() []event.Remarked {
	var out []event.Remarked
	reported := map[object.Key]bool{}
	for _, t := range v.set.fresh() {
		registry := privateRegistry(t.spec)
		if registry == "" || len(t.spec.ImagePullSecrets) == 0 || v.accountPulls(t) {
			continue
		}
		first := diagnose.RefOf("v1", "Secret", t.of.Ref.Namespace, t.spec.ImagePullSecrets[0].Name)
		missing := first.Name != "" && !reported[first.Key()]
		for _, secret := range t.spec.ImagePullSecrets {
			ref := diagnose.RefOf("v1", "Secret", t.of.Ref.Namespace, secret.Name)
			there, sure := v.exists(ref)
			missing = missing && sure && !there && !v.set.mayBring(ref, t.of)
		}
		if missing {
			reported[first.Key()] = true
			out = append(out, event.Remarked{
				Ref: t.of.Ref, Code: "PullSecretMissing", Path: t.path + ".imagePullSecrets",
				Text: fmt.Sprintf("Secret %s does not exist, and nothing in this set creates it: images from %s will be pulled without credentials", text.Excerpt(first.Name), text.Excerpt(registry)),
				Hint: "add the Secret to the set, or create it: kubectl create secret docker-registry",
			})
		}
	}
	return out
}

func (v *view) accountPulls(t template) bool {
	ref := diagnose.RefOf("v1", "ServiceAccount", t.of.Ref.Namespace, cmp.Or(t.spec.ServiceAccountName, "default"))
	if o := v.set.find(ref); o != nil {
		return len(diagnose.Items(o.After, "imagePullSecrets")) > 0
	}
	u, sure := v.Get(ref.GVK, ref.Namespace, ref.Name)
	return !sure || len(diagnose.Items(u, "imagePullSecrets")) > 0
}

func privateRegistry(spec *corev1.PodSpec) string {
	for _, c := range spec.Containers {
		host, _, named := strings.Cut(c.Image, "/")
		if !named || !strings.ContainsAny(host, ".:") && host != "localhost" {
			continue // It is Docker Hub.
		}
		if c.ImagePullPolicy == corev1.PullNever || hasCredentials(host) {
			continue
		}
		switch host {
		case "docker.io", "index.docker.io", "quay.io", "ghcr.io", "gcr.io", "registry.k8s.io", "k8s.gcr.io", "public.ecr.aws", "mcr.microsoft.com":
		default:
			return host
		}
	}
	return ""
}

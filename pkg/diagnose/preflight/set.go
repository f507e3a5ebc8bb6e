package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Object is an object in a set.
type Object struct {
	Ref object.Ref
	// Changes is set if the run creates or changes the object.
	Changes bool
	// Before holds the live object; nil if there is none, or if it does not change.
	Before *unstructured.Unstructured
	// After holds the object as it will be or, if that is unknown, the manifest.
	After *unstructured.Unstructured
}

// Set contains the objects of a run, in order.
type Set struct {
	Objects []Object
	// Prunes is set if the run deletes objects that left the set.
	Prunes bool
}

// Concerns reports whether a change to an object of this kind can cause a remark.
func Concerns(ref object.Ref) bool {
	switch gk := ref.GVK.GroupKind(); gk.Group {
	case "":
		return slices.Contains([]string{"Pod", "ReplicationController", "Service", "ResourceQuota"}, gk.Kind)
	case "apps":
		return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, gk.Kind)
	case "batch":
		return slices.Contains([]string{"Job", "CronJob"}, gk.Kind)
	case "policy":
		return gk.Kind == "PodDisruptionBudget"
	}
	return false
}

// Needs reports whether [Foresee] uses the kind, for a remark or because other objects refer to it.
func Needs(ref object.Ref) bool {
	return Concerns(ref) || ref.GVK.Group == "" &&
		slices.Contains([]string{"Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount", "LimitRange"}, ref.GVK.Kind)
}

// HasData reports whether the kind has data that should be dropped as soon as possible.
func HasData(ref object.Ref) bool {
	return ref.GVK.Group == "" && (ref.GVK.Kind == "Secret" || ref.GVK.Kind == "ConfigMap")
}

type set struct {
	objects   []Object
	index     map[object.Key]*Object
	templates map[string][]template
	prunes    bool
}

func newSet(of Set) *set {
	s := &set{objects: of.Objects, prunes: of.Prunes, index: map[object.Key]*Object{}, templates: map[string][]template{}}
	for i := range s.objects {
		o := &s.objects[i]
		s.index[o.Ref.Key()] = o
		if t, ok := templateOf(o.After); ok {
			t.of = o
			s.templates[o.Ref.Namespace] = append(s.templates[o.Ref.Namespace], t)
		}
	}
	return s
}

func (s *set) find(ref object.Ref) *Object { return s.index[ref.Key()] }

func (s *set) ofKind(group, kind, namespace string) []*Object {
	var found []*Object
	for i := range s.objects {
		o := &s.objects[i]
		if o.Ref.GVK.Group == group && o.Ref.GVK.Kind == kind && o.Ref.Namespace == namespace {
			found = append(found, o)
		}
	}
	return found
}

type template struct {
	of                  *Object
	path                string
	labels, annotations map[string]string
	spec                *corev1.PodSpec
}

func templateOf(u *unstructured.Unstructured) (template, bool) {
	if u == nil {
		return template{}, false
	}
	at := templatePath(object.RefOf(u))
	if at == nil {
		return template{}, false
	}
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, at...)
	fields, isMap := value.(map[string]any)
	if len(at) == 0 {
		fields, found, isMap = u.Object, true, true
	}
	if !found || err != nil || !isMap {
		return template{}, false
	}
	var typed struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec corev1.PodSpec `json:"spec"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &typed) != nil {
		return template{}, false
	}
	t := template{labels: typed.Metadata.Labels, annotations: typed.Metadata.Annotations, spec: &typed.Spec}
	for _, name := range at {
		t.path += "." + name
	}
	t.path += ".spec"
	return t, true
}

func templatePath(ref object.Ref) []string {
	switch gk := ref.GVK.GroupKind(); gk.Group + "/" + gk.Kind {
	case "/Pod":
		return []string{}
	case "/ReplicationController", "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job":
		return []string{"spec", "template"}
	case "batch/CronJob":
		return []string{"spec", "jobTemplate", "spec", "template"}
	}
	return nil
}

func (t template) starts() bool {
	if !t.of.Changes {
		return false
	}
	before, was := templateOf(t.of.Before)
	return !was || !equality.Semantic.DeepEqual(before.spec, t.spec)
}

func (s *set) fresh() []template {
	var found []template
	for _, o := range s.objects {
		for _, t := range s.templates[o.Ref.Namespace] {
			if t.of.Ref == o.Ref && t.starts() {
				found = append(found, t)
			}
		}
	}
	return found
}

func typedAs[T any](u *unstructured.Unstructured) (*T, bool) {
	t, ok := diagnose.As[T](u)
	return &t, ok
}

type view struct {
	*diagnose.Run
	set *set
}

func (v *view) exists(ref object.Ref) (there, sure bool) {
	if v.set.find(ref) != nil {
		return true, true
	}
	return v.Exists(ref)
}

func others(n int, noun, also string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; 1 more %s in this set %ss it", noun, also)
	default:
		return fmt.Sprintf("; %d more %ss in this set %s it", n, noun, also)
	}
}

// truth is an answer that may be unknown.
type truth int

const (
	no truth = iota
	yes
	perhaps
)

func of(is bool) truth {
	if is {
		return yes
	}
	return no
}

// counts reports whether the quota counts the demand. All scopes of the quota must apply.
func (v *view) counts(q *corev1.ResourceQuota, d demand) truth {
	all := yes
	for _, scope := range q.Spec.Scopes {
		all = both(all, v.inScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, d))
	}
	if q.Spec.ScopeSelector != nil {
		for _, scope := range q.Spec.ScopeSelector.MatchExpressions {
			all = both(all, v.inScope(scope, d))
		}
	}
	if d.old != nil && all == yes && (len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil) {
		return perhaps // Its old Pods may have been in another scope.
	}
	return all
}

func both(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == perhaps || b == perhaps:
		return perhaps
	}
	return yes
}

func (v *view) inScope(scope corev1.ScopedResourceSelectorRequirement, d demand) truth {
	switch scope.ScopeName { //nolint:exhaustive // Other scopes are unknown.
	case corev1.ResourceQuotaScopeTerminating:
		return of(d.spec.ActiveDeadlineSeconds != nil)
	case corev1.ResourceQuotaScopeNotTerminating:
		return of(d.spec.ActiveDeadlineSeconds == nil)
	case corev1.ResourceQuotaScopeBestEffort:
		return v.bestEffort(d)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return [...]truth{no: yes, yes: no, perhaps: perhaps}[v.bestEffort(d)]
	case corev1.ResourceQuotaScopePriorityClass:
		class := d.spec.PriorityClassName
		if class == "" {
			return perhaps // The cluster may have a default class.
		}
		switch scope.Operator {
		case corev1.ScopeSelectorOpIn:
			return of(slices.Contains(scope.Values, class))
		case corev1.ScopeSelectorOpNotIn:
			return of(!slices.Contains(scope.Values, class))
		case corev1.ScopeSelectorOpExists:
			return yes
		case corev1.ScopeSelectorOpDoesNotExist:
			return no
		}
	}
	return perhaps
}

// bestEffort reports whether no container has requests or limits, either of its own or from a
// LimitRange.
func (v *view) bestEffort(d demand) truth {
	if d.spec.Resources != nil {
		return perhaps
	}
	for _, c := range slices.Concat(d.spec.InitContainers, d.spec.Containers) {
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if amount := list[name]; !amount.IsZero() {
					return no
				}
			}
		}
	}
	if !v.noDefaults(d.of.Ref.Namespace) || v.mayResize(d.template) {
		return perhaps
	}
	return yes
}

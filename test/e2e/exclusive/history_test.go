package exclusive_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
)

const us = "k8sconnect"

// history is one object and what eight managers do to it.
type history struct {
	name string
	// base is the manifest at the beginning, want the one that is applied in the end.
	base, want map[string]any
	steps      []string
}

// managers and the way in which each of them writes.
var managers = []struct {
	name string
	way  func(h *history, t *testing.T, a *api, r *rand.Rand, manager, namespace string, part map[string]any) error
}{
	{"kubectl-edit", (*history).put},
	{"k9s", (*history).put},
	{"kubectl-client-side-apply", (*history).clientSide},
	{"kubectl-patch", (*history).patch},
	{"reloader", (*history).patch},
	{"helm", (*history).apply},
	{"Terraform", (*history).apply},
	{"kube-controller-manager", (*history).put},
}

// run creates the object, and lets managers write to it. It reports whether the object exists.
func (h *history) run(t *testing.T, a *api, r *rand.Rand, namespace string) bool {
	t.Helper()
	if !h.create(t, a, r, namespace) {
		return false
	}
	for range 1 + r.IntN(5) {
		m := managers[r.IntN(len(managers))]
		switch r.IntN(10) {
		case 0:
			h.step("delete a field", m.name, h.cutLive(t, a, r, m.name, namespace))
		case 1:
			h.step("status or scale", "autoscaler", h.subresource(t, a, r, namespace))
		case 2:
			_, err := a.do(t, http.MethodPatch, at(h.want, namespace, h.name), asApply, us, named(h.want, namespace, h.name))
			h.step("apply", us, err)
		default:
			part := addition(r, h.base)
			h.step(text(part), m.name, m.way(h, t, a, r, m.name, namespace, part))
		}
	}
	return true
}

func (h *history) step(what, manager string, err error) {
	line := manager + ": " + what
	if err != nil {
		line += "  refused: " + err.Error()
	}
	h.steps = append(h.steps, line)
}

func (h *history) create(t *testing.T, a *api, r *rand.Rand, namespace string) bool {
	t.Helper()
	var err error
	o := named(h.base, namespace, h.name)
	how := []string{us, us, "kubectl-create", "kubectl-client-side-apply", "helm"}[r.IntN(5)]
	switch how {
	case us:
		_, err = a.do(t, http.MethodPatch, at(o, namespace, h.name), asApply, us, o)
	case "helm":
		_, err = a.do(t, http.MethodPatch, at(o, namespace, h.name), asApply, how, o)
	case "kubectl-create":
		_, err = a.do(t, http.MethodPost, at(o, namespace), asJSON, how, o)
	default:
		record(o, o)
		_, err = a.do(t, http.MethodPost, at(o, namespace), asJSON, how, o)
	}
	h.step("create", how, err)
	return err == nil
}

// record writes the annotation of client-side apply.
func record(o, manifest map[string]any) {
	text, err := json.Marshal(manifest)
	if err != nil {
		panic(err)
	}
	merge(o, in(map[string]any{"kubectl.kubernetes.io/last-applied-configuration": string(text)}, "metadata", "annotations"))
}

func (h *history) put(t *testing.T, a *api, _ *rand.Rand, manager, namespace string, part map[string]any) error {
	t.Helper()
	live, err := a.do(t, http.MethodGet, at(h.base, namespace, h.name), "", "", nil)
	if err != nil {
		return err
	}
	merge(live, clone(part))
	_, err = a.do(t, http.MethodPut, at(h.base, namespace, h.name), asJSON, manager, live)
	return err
}

func (h *history) clientSide(t *testing.T, a *api, _ *rand.Rand, manager, namespace string, part map[string]any) error {
	t.Helper()
	live, err := a.do(t, http.MethodGet, at(h.base, namespace, h.name), "", "", nil)
	if err != nil {
		return err
	}
	manifest := named(h.base, namespace, h.name)
	merge(manifest, clone(part))
	merge(live, clone(part))
	record(live, manifest)
	_, err = a.do(t, http.MethodPut, at(h.base, namespace, h.name), asJSON, manager, live)
	return err
}

// patch merges maps; it replaces lists, which a custom resource knows no other patch for.
func (h *history) patch(t *testing.T, a *api, _ *rand.Rand, manager, namespace string, part map[string]any) error {
	t.Helper()
	how := "application/strategic-merge-patch+json"
	if h.base["kind"] == "Widget" {
		how = asMerge
	}
	_, err := a.do(t, http.MethodPatch, at(h.base, namespace, h.name), how, manager, part)
	return err
}

func (h *history) apply(t *testing.T, a *api, _ *rand.Rand, manager, namespace string, part map[string]any) error {
	t.Helper()
	o := map[string]any{"apiVersion": h.base["apiVersion"], "kind": h.base["kind"], "metadata": map[string]any{"name": h.name, "namespace": namespace}}
	merge(o, clone(part))
	_, err := a.do(t, http.MethodPatch, at(o, namespace, h.name), asApply, manager, o)
	return err
}

// cutLive removes or changes a part of the live object.
func (h *history) cutLive(t *testing.T, a *api, r *rand.Rand, manager, namespace string) error {
	t.Helper()
	live, err := a.do(t, http.MethodGet, at(h.base, namespace, h.name), "", "", nil)
	if err != nil {
		return err
	}
	cut(r, live, "")
	_, err = a.do(t, http.MethodPut, at(h.base, namespace, h.name), asJSON, manager, live)
	return err
}

func (h *history) subresource(t *testing.T, a *api, r *rand.Rand, namespace string) error {
	t.Helper()
	path := at(h.base, namespace, h.name)
	if r.IntN(2) == 0 {
		_, err := a.do(t, http.MethodPatch, path+"/scale", asMerge, "autoscaler", map[string]any{"spec": map[string]any{"replicas": 3 + r.IntN(3)}})
		return err
	}
	_, err := a.do(t, http.MethodPatch, path+"/status", asMerge, "operator", map[string]any{"status": map[string]any{"observedGeneration": 7}})
	return err
}

// cut removes random fields of an object, but none that identify it or a list item.
func cut(r *rand.Rand, m map[string]any, path string) {
	for _, name := range sorted(m) {
		if slices.Contains([]string{"apiVersion", "kind", "name", "namespace", "selector", "matchLabels", "app", "containerPort", "port", "mountPath", "protocol", "status", "managedFields", "uid", "resourceVersion", "template", "jobTemplate", "schedule", "serviceAccountName", "serviceAccount"}, name) {
			if below, ok := m[name].(map[string]any); ok && name != "status" && name != "selector" {
				cut(r, below, path+"."+name)
			}
			continue
		}
		if name != "metadata" && name != "spec" && r.IntN(8) == 0 {
			delete(m, name)
			continue
		}
		switch v := m[name].(type) {
		case map[string]any:
			before := len(v)
			cut(r, v, path+"."+name)
			// If we own all fields of a map that the manifest sets to {}, the API server stores null, and
			// refuses that for a custom resource.
			if before > 0 && len(v) == 0 && name != "metadata" && name != "spec" {
				delete(m, name)
			}
		case []any:
			for _, item := range v {
				if below, ok := item.(map[string]any); ok {
					cut(r, below, path+"."+name)
				}
			}
		}
	}
}

func sorted(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// in puts a value below fields.
func in(v any, fields ...string) map[string]any {
	for _, name := range slices.Backward(fields) {
		v = map[string]any{name: v}
	}
	return v.(map[string]any)
}

type object = map[string]any

// addition returns something that a manager may add to an object, as a part of an object.
func addition(r *rand.Rand, o map[string]any) map[string]any {
	kind, _ := o["kind"].(string)
	n := fmt.Sprint("x", r.IntN(3))
	all := []map[string]any{
		in(object{n: "a"}, "metadata", "labels"), in(object{"example.com/" + n: "1"}, "metadata", "annotations"),
		in([]any{"example.com/" + n}, "metadata", "finalizers"),
		in(object{"kubernetes.io/change-cause": n}, "metadata", "annotations"),
	}
	template := []string{"spec", "template"}
	if kind == "CronJob" {
		template = []string{"spec", "jobTemplate", "spec", "template"}
	}
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "CronJob":
		for _, part := range podAdditions(r, o, template, n) {
			all = append(all, in(part, template...))
		}
	}
	switch kind {
	case "Deployment":
		all = append(all, in(5+r.IntN(2), "spec", "replicas"), in(7, "spec", "minReadySeconds"), in(true, "spec", "paused"),
			in(object{"type": "Recreate", "rollingUpdate": nil}, "spec", "strategy"),
			in(object{"maxSurge": 1 + r.IntN(3)}, "spec", "strategy", "rollingUpdate"), in(3, "spec", "revisionHistoryLimit"))
	case "StatefulSet":
		all = append(all, in(2, "spec", "replicas"), in(object{"type": "OnDelete", "rollingUpdate": nil}, "spec", "updateStrategy"),
			in(object{"whenDeleted": "Delete", "whenScaled": "Retain"}, "spec", "persistentVolumeClaimRetentionPolicy"), in(object{"start": 3}, "spec", "ordinals"))
	case "DaemonSet":
		all = append(all, in(object{"rollingUpdate": object{"maxUnavailable": 2}, "type": "RollingUpdate"}, "spec", "updateStrategy"), in(7, "spec", "minReadySeconds"))
	case "CronJob":
		all = append(all, in(true, "spec", "suspend"), in("Forbid", "spec", "concurrencyPolicy"), in(30, "spec", "startingDeadlineSeconds"), in("Etc/UTC", "spec", "timeZone"),
			in(4, "spec", "jobTemplate", "spec", "backoffLimit"), in(object{n: "a"}, "spec", "jobTemplate", "metadata", "labels"))
	case "ConfigMap":
		all = append(all, in(object{n: "v"}, "data"), in(object{"b" + n: "AAEC"}, "binaryData"), in(object{n: ""}, "data"))
	case "Secret":
		all = append(all, in(object{n: "dg=="}, "data"), in(object{n: ""}, "data"))
	case "Service":
		all = append(all, in("ClientIP", "spec", "sessionAffinity"), in(true, "spec", "publishNotReadyAddresses"),
			in([]any{object{"name": "extra" + n, "port": 9000 + r.IntN(3), "protocol": "TCP"}}, "spec", "ports"), in("NodePort", "spec", "type"),
			in(object{n: "a"}, "spec", "selector"), in("Local", "spec", "internalTrafficPolicy"))
	case "ServiceAccount":
		all = append(all, in([]any{object{"name": n}}, "imagePullSecrets"), in(false, "automountServiceAccountToken"), in([]any{object{"name": n}}, "secrets"))
	case "NetworkPolicy":
		all = append(all, in(object{"example.com/policy": n}, "metadata", "annotations"))
	case "PodDisruptionBudget":
		all = append(all, in("AlwaysAllow", "spec", "unhealthyPodEvictionPolicy"))
	case "Ingress":
		all = append(all, in([]any{object{"hosts": []any{n + ".example.com"}, "secretName": n}}, "spec", "tls"), in(n, "spec", "ingressClassName"))
	case "HorizontalPodAutoscaler":
		all = append(all, in(object{"stabilizationWindowSeconds": 60}, "spec", "behavior", "scaleDown"), in(2, "spec", "minReplicas"))
	case "Widget":
		all = append(all, in([]any{object{"name": n, "size": 3}}, "spec", "items"), in([]any{object{"name": n}}, "spec", "items"), in([]any{n}, "spec", "tags"),
			in(object{n: "v"}, "spec", "settings"), in(object{"a": n}, "spec", "whole"), in([]any{n}, "spec", "list"), in(object{"deep": object{n: object{"b": 1}}}, "spec", "free"),
			in("fast", "spec", "mode"), in(object{}, "spec", "options"), in(object{"level": 9}, "spec", "options"), in(object{}, "spec", "settings"))
	}
	return all[r.IntN(len(all))]
}

func podAdditions(r *rand.Rand, o map[string]any, template []string, n string) []map[string]any {
	v := any(o)
	for _, name := range append(slices.Clone(template), "spec", "containers") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	list, _ := v.([]any)
	first := "app"
	if len(list) > 0 {
		first = list[r.IntN(len(list))].(map[string]any)["name"].(string)
	}
	container := func(part object) map[string]any {
		part["name"] = first
		return in([]any{part}, "spec", "containers")
	}
	return []map[string]any{
		in(true, "spec", "hostNetwork"), in(true, "spec", "hostPID"), in(10+r.IntN(2), "spec", "terminationGracePeriodSeconds"),
		in(object{"disk": n}, "spec", "nodeSelector"), in([]any{object{"key": n, "operator": "Exists"}}, "spec", "tolerations"),
		in([]any{object{"name": n, "emptyDir": object{}}}, "spec", "volumes"), in([]any{object{"name": n, "configMap": object{"name": n}}}, "spec", "volumes"),
		in([]any{object{"name": n, "image": "registry.example/extra:1"}}, "spec", "containers"),
		in([]any{object{"name": n, "image": "registry.example/extra:1", "ports": []any{object{"containerPort": 70}}}}, "spec", "initContainers"),
		in([]any{object{"name": n}}, "spec", "imagePullSecrets"), in(object{n: "a"}, "metadata", "labels"), in(object{n: "a"}, "metadata", "annotations"),
		in(object{"kubectl.kubernetes.io/restartedAt": n}, "metadata", "annotations"),
		in(object{"runAsUser": 1000}, "spec", "securityContext"), in("Default", "spec", "dnsPolicy"), in(n, "spec", "serviceAccountName"), in(n, "spec", "priorityClassName"),
		container(object{"env": []any{object{"name": n, "value": "1"}}}), container(object{"env": []any{object{"name": n, "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}}}),
		container(object{"resources": object{"limits": object{"cpu": "1"}}}), container(object{"resources": object{"requests": object{"memory": "1Gi"}}}),
		container(object{"livenessProbe": object{"tcpSocket": object{"port": 80}}}), container(object{"command": []any{"sleep"}}),
		container(object{"imagePullPolicy": "Always"}), container(object{"image": "registry.example/other:2"}), container(object{"stdin": true}),
		container(object{"securityContext": object{"privileged": true}}), container(object{"ports": []any{object{"containerPort": []int{80, 7000, 7001}[r.IntN(3)], "protocol": "UDP"}}}),
		container(object{"lifecycle": object{"preStop": object{"sleep": object{"seconds": 3}}}}),
		{"spec": object{"volumes": []any{object{"name": "v" + n, "emptyDir": object{}}}, "containers": []any{object{"name": first, "volumeMounts": []any{object{"name": "v" + n, "mountPath": "/" + n}}}}}},
	}
}

package deprecation

// podRules returns the rules for a Pod or a template of one.
func podRules() []rule {
	rules := []rule{
		{
			// The API server fills in each from the other.
			path: "spec.serviceAccount", unless: []string{"spec.serviceAccountName"},
			use: ".spec.serviceAccountName", source: "v1 PodSpec.serviceAccount",
		},
		{
			path: "spec.volumes[].gitRepo", since: v1(11), gone: v1(33),
			use: "an init container that clones into an emptyDir", source: "v1 VolumeSource.gitRepo", serverWarns: true,
		},
	}
	rules = append(rules, pluginRules("spec.volumes[]", "v1 VolumeSource.")...)
	rules = append(rules, claimRule("spec.volumes[].ephemeral.volumeClaimTemplate.", false))
	rules = append(rules, annotationRules()...)
	for _, containers := range []string{"containers", "initContainers"} {
		for _, hook := range []string{"postStart", "preStop"} {
			rules = append(rules, rule{
				path: "spec." + containers + "[].lifecycle." + hook + ".tcpSocket",
				use:  "exec, httpGet or sleep", source: "v1 LifecycleHandler.tcpSocket",
			})
		}
	}
	return append(rules, podLabelRules()...)
}

// annotationRules returns the rules for annotations that became fields. If the field is set, the
// annotation may be for older clients, or be the API server's own.
func annotationRules() []rule {
	annotation := func(key string, since, gone int, use string, unless ...string) rule {
		r := rule{path: "metadata.annotations", key: key, use: use, unless: unless, source: serverPods, serverWarns: true}
		if since > 0 {
			r.since = v1(since)
		}
		if gone > 0 {
			r.gone = v1(gone)
		}
		return r
	}
	seccomp := []string{"spec.securityContext.seccompProfile", "spec.containers[].securityContext.seccompProfile"}
	return []rule{
		annotation("scheduler.alpha.kubernetes.io/critical-pod", 0, 16, ".spec.priorityClassName"),
		annotation("security.alpha.kubernetes.io/sysctls", 0, 11, ".spec.securityContext.sysctls"),
		annotation("security.alpha.kubernetes.io/unsafe-sysctls", 0, 11, ".spec.securityContext.sysctls"),
		annotation("seccomp.security.alpha.kubernetes.io/pod", 19, 27, ".spec.securityContext.seccompProfile", seccomp...),
		annotation("container.seccomp.security.alpha.kubernetes.io/*", 19, 27, "the container's securityContext.seccompProfile", seccomp...),
		annotation("container.apparmor.security.beta.kubernetes.io/*", 30, 0, "the container's securityContext.appArmorProfile",
			"spec.securityContext.appArmorProfile", "spec.containers[].securityContext.appArmorProfile"),
	}
}

// podLabelRules returns the rules for places where a Pod names labels of nodes.
func podLabelRules() []rule {
	const (
		node   = "spec.affinity.nodeAffinity."
		pod    = "spec.affinity.podAffinity."
		anti   = "spec.affinity.podAntiAffinity."
		must   = "requiredDuringSchedulingIgnoredDuringExecution"
		should = "preferredDuringSchedulingIgnoredDuringExecution[]."
	)
	return append(labelRules(true,
		"spec.nodeSelector",
		node+must+".nodeSelectorTerms[].matchExpressions[].key",
		node+should+"preference.matchExpressions[].key",
		"spec.topologySpreadConstraints[].topologyKey",
	), labelRules(false,
		pod+must+"[].topologyKey",
		pod+should+"podAffinityTerm.topologyKey",
		anti+must+"[].topologyKey",
		anti+should+"podAffinityTerm.topologyKey",
	)...)
}

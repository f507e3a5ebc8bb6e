package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// variables reports each $(NAME) where Kubernetes would insert a value, but no variable
// has that name: the program gets the text as it is. It makes no remark if the container's
// variables are not all known (envFrom, those of Services, what webhooks add), or if the
// text may be a shell command or meant for another program.
func variables(s *set) []event.Remarked {
	var out []event.Remarked
	for _, t := range s.fresh() {
		told := map[string]bool{}
		t.each(func(c corev1.Container, at string) {
			if len(c.EnvFrom) > 0 || t.isInjected() {
				return
			}
			look := func(said, path string) {
				for _, name := range undefined(c, said) {
					if told[at+name] {
						continue
					}
					told[at+name] = true
					out = append(out, undefinedIn(t.of.Ref, t.path+at+path, name))
				}
			}
			for _, said := range c.Command {
				look(said, ".command")
			}
			for _, said := range c.Args {
				look(said, ".args")
			}
			for _, env := range c.Env {
				look(env.Value, fmt.Sprintf(".env[name=%q].value", env.Name))
			}
		})
	}
	return out
}

func undefinedIn(ref object.Ref, path, name string) event.Remarked {
	r := event.Remarked{
		Ref: ref, Code: "VariableUndefined", Path: path,
		Text: fmt.Sprintf("$(%s) stands for a variable that the container does not define: the program gets the text $(%s) itself", name, name),
		Hint: fmt.Sprintf("define %s in the env of the container; $$(%s) if that text is meant", name, name),
	}
	if field := downward(name); field != "" {
		r.Hint = fmt.Sprintf("add to the env of the container: {name: %s, valueFrom: {fieldRef: {fieldPath: %s}}}", name, field)
	}
	return r
}

// downward returns the field of the Pod from which a variable of that name is usually set.
func downward(name string) string {
	switch strings.TrimPrefix(strings.TrimPrefix(name, "MY_"), "K8S_") {
	case "POD_NAME":
		return "metadata.name"
	case "POD_NAMESPACE", "NAMESPACE":
		return "metadata.namespace"
	case "POD_UID":
		return "metadata.uid"
	case "POD_IP":
		return "status.podIP"
	case "NODE_NAME":
		return "spec.nodeName"
	case "HOST_IP", "NODE_IP":
		return "status.hostIP"
	case "SERVICE_ACCOUNT", "POD_SERVICE_ACCOUNT":
		return "spec.serviceAccountName"
	}
	return ""
}

// undefined returns the names to which a text refers and that the container does not
// define.
func undefined(c corev1.Container, said string) []string {
	if strings.Contains(said, "\n") {
		return nil // A script, with a syntax of its own.
	}
	var names []string
	for _, match := range regexp.MustCompile(`\$\$|\$\(([A-Z][A-Z0-9_]*)\)`).FindAllStringSubmatch(said, -1) {
		name := match[1]
		defined := slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == name })
		if name != "" && !defined && !isOfService(name) && !isInjectedVariable(name) {
			names = append(names, name)
		}
	}
	return names
}

// isOfService reports whether a variable of that name may be one that all Pods get for a
// Service.
func isOfService(name string) bool {
	return strings.HasPrefix(name, "KUBERNETES_") || strings.HasSuffix(name, "_SERVICE_HOST") ||
		strings.Contains(name, "_SERVICE_PORT") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}

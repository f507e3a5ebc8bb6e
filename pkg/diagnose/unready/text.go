package unready

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// lastLines returns the last lines of a text that say something, cleaned.
func lastLines(s string, n int) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = text.Excerpt(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}

// kubectl returns a command, its words quoted for a shell where they have to be. The verb
// has one word, but for those that group others.
func kubectl(namespace string, words ...string) string {
	verb := 1
	if slices.Contains([]string{"auth", "rollout", "create"}, words[0]) {
		verb = 2
	}
	if namespace != "" {
		words = append(words, "-n", namespace)
	}
	line := []string{command.Kubectl(words[:verb]...)}
	for _, word := range words[verb:] {
		line = append(line, text.ShellQuote(word))
	}
	return strings.Join(line, " ")
}

// get returns the command that shows the object.
func get(ref object.Ref) string {
	return kubectl(ref.Namespace, "get", ref.Resource(), "-o", "yaml")
}

// describe returns the command that shows the object with its events.
func describe(ref object.Ref) string {
	return kubectl(ref.Namespace, "describe", ref.Resource())
}

// stated returns the texts that say something, each once, in their order.
func stated(texts []string) []string {
	return text.Distinct(slices.DeleteFunc(slices.Clone(texts), func(said string) bool { return said == "" }))
}

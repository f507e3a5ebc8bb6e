package rule

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Kubectl returns a command, with its words quoted for a shell where necessary. The verb
// is the first word, or the first two if the first groups verbs.
func Kubectl(namespace string, words ...string) string {
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

// Get returns the command that shows the object.
func Get(ref object.Ref) string {
	return Kubectl(ref.Namespace, "get", ref.Resource(), "-o", "yaml")
}

// Describe returns the command that shows the object with its events.
func Describe(ref object.Ref) string {
	return Kubectl(ref.Namespace, "describe", ref.Resource())
}

// Stated returns the texts that are not empty, each once, in their order.
func Stated(texts []string) []string {
	return text.Distinct(slices.DeleteFunc(slices.Clone(texts), func(said string) bool { return said == "" }))
}

// Name returns an object's name for messages, in kubectl's notation.
func Name(r object.Ref) string { return r.String() }

// Line returns a condition as evidence.
func Line(c object.Condition) string {
	said := "condition " + text.Excerpt(c.Type) + "=" + text.Excerpt(c.Status)
	if c.Reason != "" {
		said += " (" + text.Excerpt(c.Reason) + ")"
	}
	if c.Message != "" {
		said += ": " + text.Excerpt(c.Message)
	}
	return said
}

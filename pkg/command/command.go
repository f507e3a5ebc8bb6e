// Package command builds commands that are printed for people to paste. It never runs a command.
// [Kubectl] leaves a placeholder for the flags of the connection, and [Fill] replaces the
// placeholder.
package command

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// slot is the placeholder for the flags of the connection.
	slot = "\x1f"
	// slotAs is the placeholder in commands that set --as themselves.
	slotAs = "\x1e"
	// slotOurs is the placeholder in a command of this plugin.
	slotOurs = "\x1d"
	plugin   = "k8sconnect"
)

// Kubectl returns a command that consists of kubectl, the words of the verb, and the placeholder
// for the flags.
func Kubectl(verb ...string) string {
	begun := "kubectl " + strings.Join(verb, " ")
	if verb[0] == plugin {
		return begun + slotOurs
	}
	return begun + slot
}

// KubectlAs is Kubectl for a command with its own --as.
func KubectlAs(verb ...string) string { return "kubectl " + strings.Join(verb, " ") + slotAs }

// Flags choose the cluster and the user.
type Flags struct {
	// Cluster and As are flags, not yet quoted.
	Cluster, As []string
	// Guards are flags of this plugin that reject the wrong cluster.
	Guards []string
}

// Fill replaces the placeholders of all commands in a text.
func Fill(text string, flags Flags) string {
	if !strings.ContainsAny(text, slot+slotAs+slotOurs) {
		return text
	}
	who := words(flags.Cluster)
	all := who + words(flags.As)
	return strings.NewReplacer(slotAs, who, slot, all, slotOurs, all+words(flags.Guards)).Replace(text)
}

func words(all []string) string {
	var b strings.Builder
	for _, word := range all {
		b.WriteString(" " + text.ShellQuote(word))
	}
	return b.String()
}

// Package command builds the commands that are printed for people to paste. [Kubectl] leaves a slot
// after the verb for the flags of the connection, and [Fill] fills it where text leaves the
// program. It runs nothing.
package command

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// slot marks where the flags of the connection go.
	slot = "\x1f"
	// slotAs is the slot of a command with its own --as.
	slotAs = "\x1e"
	// slotOurs is the slot of a command of this plugin.
	slotOurs = "\x1d"
	// plugin is the plugin's name.
	plugin = "k8sconnect"
)

// Kubectl begins a command: kubectl, the words of the verb, and the slot.
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
	// Cluster chooses the cluster and credentials, As the user to impersonate. Each is a word, not
	// quoted yet.
	Cluster, As []string
	// Guards are flags that only this plugin knows: the clusters that it refuses.
	Guards []string
}

// Fill fills the slots of all commands in a text.
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

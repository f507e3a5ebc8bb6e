package command

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// slot is where the flags of the connection go.
	slot = "\x1f"
	// slotAs is the same for a command that says itself whom to act as.
	slotAs = "\x1e"
	// slotOurs is the same for a command of this plugin.
	slotOurs = "\x1d"
	// plugin is our name to kubectl.
	plugin = "k8sconnect"
)

// Kubectl begins a command: kubectl, the words of the verb, and the slot for flags.
func Kubectl(verb ...string) string {
	begun := "kubectl " + strings.Join(verb, " ")
	if verb[0] == plugin {
		return begun + slotOurs
	}
	return begun + slot
}

// KubectlAs is Kubectl for a command that has an --as of its own.
func KubectlAs(verb ...string) string { return "kubectl " + strings.Join(verb, " ") + slotAs }

// Flags say which cluster is meant, and who.
type Flags struct {
	// Cluster chooses the cluster and the credentials, As whom to impersonate. Each is a
	// word, not quoted yet.
	Cluster, As []string
	// Guards are flags that only commands of this plugin know: which clusters it refuses.
	Guards []string
}

// Fill puts the flags into all commands of a text.
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

package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// longest is how many characters of a text of the cluster are told. The middle is
// left out: what matters is often at the end.
const longest = 300

// Quote makes a text that somebody wrote into the cluster fit for one line:
// without line breaks, what is not printable spelt out, and no longer than is
// useful.
func Quote(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	runes := []rune(b.String())
	if len(runes) > longest {
		return string(runes[:longest*2/3]) + " … " + string(runes[len(runes)-longest/3:])
	}
	return string(runes)
}

// Name writes an object in a sentence, as kubectl would be told it.
func Name(ref object.Ref) string {
	if ref.Namespace == "" {
		return Quote(ref.Resource())
	}
	return Quote(ref.Resource() + " -n " + ref.Namespace)
}

// Word quotes a word of a command such that a POSIX shell reads it unchanged.
func Word(s string) string {
	quoted := command.Quote(s)
	if quoted == s {
		return s
	}
	return command.Quote(Quote(s))
}

// On writes the object at the end of a command: TYPE/NAME -n NAMESPACE.
func On(ref object.Ref) string {
	if ref.Namespace == "" {
		return Word(ref.Resource())
	}
	return Word(ref.Resource()) + " -n " + Word(ref.Namespace)
}

// Count returns "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Ago returns how long something is past, to the unit that matters.
func Ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Some lists the first texts and counts the rest.
func Some(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
}

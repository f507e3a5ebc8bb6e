package unready

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// longest is the length in characters of what is quoted of a cluster's text. Of
	// a longer one the beginning says what, and the end mostly why.
	longest = 300
	tail    = 100
)

// clean makes a text of the cluster, such as a termination message, one line of a
// sane length: without colours, control characters and line breaks.
func clean(s string) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b':
			width = escapeSequence(s[i:])
		case r == utf8.RuneError && width == 1, !strconv.IsPrint(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return cut(strings.Join(strings.Fields(b.String()), " "))
}

// escapeSequence returns the length of the terminal's escape sequence that a text
// begins with, as far as it is one that sets colours or moves the cursor.
func escapeSequence(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}

// cut shortens a text in the middle.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	r := []rune(s)
	return string(r[:longest-tail]) + " … " + string(r[len(r)-tail:])
}

// lastLines returns the last lines of a text that say something, cleaned.
func lastLines(s string, n int) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = clean(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}

// some lists names, and how many it left out.
func some(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:n], ", ") + " and " + strconv.Itoa(len(names)-n) + " more"
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
		line = append(line, command.Quote(word))
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

// distinct returns the texts that are not empty, each once, in their order.
func distinct(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

package connection

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/klog/v2"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// libraries is the lowest verbosity at which the Kubernetes libraries log.
const libraries = 2

// Log sends the logs of the Kubernetes libraries to w and masks the values of Secrets. Below
// [libraries], it drops them.
func Log(w io.Writer, vault *redact.Vault, verbosity int) error {
	logs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logs)
	if verbosity < libraries {
		w, verbosity = io.Discard, 0
	}
	for name, value := range map[string]string{
		"v":               strconv.Itoa(verbosity),
		"logtostderr":     "false",
		"alsologtostderr": "false",
		// Otherwise errors would also go to stderr.
		"stderrthreshold": "FATAL",
	} {
		if err := logs.Set(name, value); err != nil {
			return fmt.Errorf("log --%s=%s: %w", name, value, err)
		}
	}
	klog.SetOutput(&logWriter{vault: vault, w: w})
	return nil
}

// Each write to a logWriter is one entry.
type logWriter struct {
	vault *redact.Vault
	w     io.Writer
}

// Write implements io.Writer.
func (l *logWriter) Write(entry []byte) (int, error) {
	text := l.vault.Text(l.masked(withoutSecretBody(string(entry))))
	if _, err := io.WriteString(l.w, text); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// masked masks the body of an entry. It unquotes the body first, because a value that a webhook
// quotes in a JSON status is quoted twice in the log.
func (l *logWriter) masked(entry string) string {
	at := strings.Index(entry, ` body="`)
	if at < 0 {
		return entry
	}
	at += len(" body=")
	quoted, err := strconv.QuotedPrefix(entry[at:])
	if err != nil {
		return entry
	}
	body, err := strconv.Unquote(quoted)
	if err != nil {
		return entry
	}
	return entry[:at] + strconv.Quote(l.vault.Text(body)) + entry[at+len(quoted):]
}

// withoutSecretBody drops bodies in hexadecimal, and bodies about Secrets, because the vault cannot
// learn from part of a body.
func withoutSecretBody(entry string) string {
	body := regexp.MustCompile(` body=[<"]`).FindStringIndex(entry)
	if body == nil {
		return entry
	}
	isSecret := regexp.MustCompile(`\\*"kind\\*":\s*\\*"Secret(List)?\\*",\s*\\*"(apiVersion|metadata)\\*"`)
	isDump := regexp.MustCompile(`^\s*00000000  [0-9a-f]{2} `)
	if !isSecret.MatchString(entry) && !isDump.MatchString(entry[body[1]:]) {
		return entry
	}
	return entry[:body[0]] + " body=\"" + redact.Mask + " (withheld: it may hold values of Secrets)\"\n"
}

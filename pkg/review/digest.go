package review

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Digest identifies the plan and its context, such as the name of a set. It reuses the salt of an
// earlier digest (like), if like has one.
//
// The digest consists of 96 bits of a SHA-256 hash, so that an author of manifests cannot find two
// plans with the same digest by varying a label. If the plan contains values of Secrets, a dot and
// a salt follow. Digests appear in logs, so the values are hashed with 600,000 rounds of PBKDF2
// (OWASP's Password Storage Cheat Sheet).
func (p *Plan) Digest(like string, of ...string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.Clone(of)
	for i, line := range lines {
		lines[i] = asText(line)
	}
	secrets := textsOf(p.secrets)
	for _, text := range textsOf(p.outcomes) {
		masked := p.masked(text)
		if lines = append(lines, masked); masked != text {
			secrets = append(secrets, text)
		}
	}
	salt := ""
	if len(secrets) > 0 {
		salt = saltOf(like)
		lines = append(lines, "values "+derived(secrets, salt))
	}
	const size = 12
	digest := digestOf(lines, size)
	if salt != "" {
		digest += "." + salt
	}
	return digest
}

// IsDigest reports whether a text has the form of a digest.
func IsDigest(text string) bool {
	return regexp.MustCompile(`^[0-9a-f]{24}(\.[0-9a-f]{16})?$`).MatchString(text)
}

// Digest identifies the outcome of one object, without the values of Secrets.
func (o Outcome) Digest() string {
	if o.digest != "" {
		return o.digest
	}
	return objectDigest(o.text())
}

func objectDigest(text string) string {
	const size = 8
	return digestOf([]string{text}, size)
}

func digestOf(lines []string, size int) string {
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:size])
}

func textsOf(outcomes map[object.Key]Outcome) []string {
	var lines []string
	for _, o := range outcomes {
		lines = append(lines, o.text())
	}
	return lines
}

func saltOf(digest string) string {
	if _, salt, salted := strings.Cut(digest, "."); salted && IsDigest(digest) {
		return salt
	}
	salt := make([]byte, 8)
	_, _ = rand.Read(salt)
	return hex.EncodeToString(salt)
}

func derived(lines []string, salt string) string {
	const rounds, size = 600_000, 32
	slices.Sort(lines)
	// Key fails only for salts and keys that are shorter than FIPS 140 allows.
	key, _ := pbkdf2.Key(sha256.New, strings.Join(lines, "\n"), []byte("values of Secrets "+salt), rounds, size)
	return hex.EncodeToString(key)
}

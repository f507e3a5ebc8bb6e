package review

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// version begins each digest, and is hashed with it. It changes with the parts of a plan that digests
// cover: version 2 added the UIDs of objects, and the paths whose owners change.
const version = "v2-"

// size is the length of a digest in bytes. An author of two manifests needs about 2^64 attempts to
// find two plans with the same digest of 128 bits.
const size = 16

// Digest identifies the plan and its context, such as the name of a set. It reuses the salt of an
// earlier digest (like), if like has one.
//
// The digest consists of the version and 128 bits of a SHA-256 hash. If the plan contains values of
// Secrets, a dot and a salt follow. Digests appear in logs, so the values are hashed with 600,000 rounds of PBKDF2
// (OWASP's Password Storage Cheat Sheet).
func (p *Plan) Digest(like string, of ...string) string { return p.Reviewed(like, of...).Digest }

// Reviewed returns the digest of the plan, like Digest, together with the digests that it consists
// of.
func (p *Plan) Reviewed(like string, of ...string) event.Reviewed {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out event.Reviewed
	outcomes := p.maskedOutcomes()
	secret := len(p.secrets) > 0
	for _, o := range outcomes {
		out.Objects = append(out.Objects, event.ReviewedObject{Ref: o.Ref, Digest: o.digest, Content: o.content})
		secret = secret || o.Secret
	}
	salt := ""
	if secret {
		salt = saltOf(like)
		values := p.values(outcomes, p.secrets, nil, salt)
		out.Values = values.full + values.after
		for i, o := range out.Objects {
			if outcomes[o.Ref.Key()].Secret {
				out.Objects[i].Version = values.seal(o.Ref, p.versions[o.Ref.Key()])
			}
		}
	}
	out.Digest = planDigest(slices.Collect(maps.Values(outcomes)), out.Values, salt, of)
	return out
}

// planDigest returns the digest of a plan. It needs no more than what a document has.
func planDigest(outcomes []Outcome, values, salt string, of []string) string {
	lines := make([]string, 0, len(of)+len(outcomes)+2)
	lines = append(lines, "version "+version)
	for _, line := range of {
		lines = append(lines, asText(line))
	}
	for _, o := range outcomes {
		// The digest of an object whose document masks more than the digest does cannot be recomputed, so the
		// content has a place of its own.
		lines = append(lines, strings.TrimSpace("object "+o.Digest()+" "+o.content))
	}
	if values != "" {
		lines = append(lines, "values "+values)
	}
	slices.Sort(lines)
	digest := version + hash(strings.Join(lines, "\n"))
	if salt != "" {
		digest += "." + salt
	}
	return digest
}

var (
	digestForm  = regexp.MustCompile(`^` + version + `[0-9a-f]{32}(\.[0-9a-f]{16})?$`)
	formerForms = regexp.MustCompile(`^([0-9a-f]{8}|[0-9a-f]{24}|[0-9a-f]{32})(\.[0-9a-f]{16})?$`)
	laterForms  = regexp.MustCompile(`^v[0-9]+-[0-9a-f.]{32,}$`)
	brokenForm  = regexp.MustCompile(`^(` + version + `)?[0-9a-f]{3,}(\.[0-9a-f]*)?$`)
)

// IsDigest reports whether a text has the form of a digest.
func IsDigest(text string) bool { return digestForm.MatchString(text) }

// isFormerDigest reports whether a text has the form of the digests of earlier releases, which
// covered less.
func isFormerDigest(text string) bool { return formerForms.MatchString(text) }

// Malformed explains why a text that looks like a digest is none; empty if the text looks like
// something else.
func Malformed(text string) string {
	trimmed := strings.TrimSpace(text)
	lower := strings.ToLower(trimmed)
	digits, salt, salted := strings.Cut(strings.TrimPrefix(lower, version), ".")
	switch {
	case IsDigest(text):
		return ""
	case isFormerDigest(text):
		return "it comes from an earlier release, whose digests covered neither UIDs nor all changes of owners"
	case trimmed != text && (IsDigest(lower) || isFormerDigest(lower)):
		return "it has spaces or line breaks around it"
	case lower != text && (IsDigest(lower) || isFormerDigest(lower)):
		return "it has upper-case letters, but a digest has none"
	case laterForms.MatchString(lower) && !strings.HasPrefix(lower, version):
		return "it comes from another release"
	case !brokenForm.MatchString(lower):
		return ""
	case len(digits) != 2*size:
		return fmt.Sprintf("it has %d digits before the salt instead of %d, so it was cut or changed when it was copied", len(digits), 2*size)
	case salted:
		return fmt.Sprintf("its salt has %d digits instead of 16, so it was cut or changed when it was copied", len(salt))
	}
	return ""
}

// Digest identifies the outcome of one object, without the values of Secrets.
func (o Outcome) Digest() string {
	if o.digest != "" {
		return o.digest
	}
	content := o.content
	if o.After != nil {
		content = hash(o.contentText())
	}
	return objectDigest(o.head(), content)
}

func objectDigest(head, content string) string { return hash(head + "\n" + content) }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:size])
}

func saltOf(digest string) string {
	if _, salt, salted := strings.Cut(digest, "."); salted && IsDigest(digest) {
		return salt
	}
	salt := make([]byte, 8)
	_, _ = rand.Read(salt)
	return hex.EncodeToString(salt)
}

// derived returns a slow digest of the lines, and a key that only a user who knows the lines can
// derive.
func derived(lines []string, salt string) (digest string, key []byte) {
	const rounds = 600_000
	slices.Sort(lines)
	// Key fails only for salts and keys that are shorter than FIPS 140 allows.
	both, _ := pbkdf2.Key(sha256.New, strings.Join(lines, "\n"), []byte("values of Secrets "+salt), rounds, 2*size)
	return hex.EncodeToString(both[:size]), both[size:]
}

package pod

import (
	"regexp"
	"slices"
	"strings"
)

const (
	notFound         = "ImageNotFound"
	accessDenied     = "ImageAccessDenied"
	platformMissing  = "ImagePlatformMissing"
	pullFailed       = "ImagePullFailed"
	notFoundOrDenied = "" // the registry does not say which
)

// pullFault classifies the error of a pull. The container runtimes and the registries report it
// only as text. ImageNotFound requires that the registry said so of this image, because other
// things may be "not found", too: a layer, a program on the node, the key of a signature.
func pullFault(image, message string) string {
	// The name of the image may itself contain any of the words below.
	lower := strings.ReplaceAll(strings.ToLower(message), strings.ToLower(repository(image)), " ")
	holds := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lower, part) })
	}
	switch {
	case holds("too many requests", "toomanyrequests", "quota exceeded", "rate limit", "dial tcp"):
		// Registries and kernels also say "denied" for rate limits and network faults, which are
		// temporary.
		return pullFailed
	case holds("signature", "credential-", "getting credentials", "text/html"):
		return pullFailed // The image was not pulled, or not used, for a reason of the node.
	case holds("no match for platform", "no matching manifest", "no image found in manifest list", "no image found in image index"):
		return platformMissing
	case holds("repository does not exist") && holds("denied", "authorization"):
		return notFoundOrDenied
	case holds("manifest unknown", "manifest_unknown", "name unknown", "name_unknown", "repository does not exist"), absent.MatchString(lower),
		isAbsent(image, message):
		return notFound
	case holds("unauthorized", "denied", "forbidden", "authentication required", "no basic auth", "authorization failed"):
		return accessDenied
	default:
		return pullFailed
	}
}

// absent matches the other words by which a registry says that it has no such image: Docker's
// client, Harbor, Artifact Registry, and a registry that answers without a body.
var absent = regexp.MustCompile(`manifest for \S* *\S* not found|artifact \S* *\S* not found|repository \S* *\S* not found|` +
	`requested image\S* not found|/manifests/\S+?:? (unexpected status code )?404 not found`)

// isAbsent reports whether the innermost error is "not found" about the image itself, which is how
// containerd reports a 404 to the request for its manifest.
func isAbsent(image, message string) bool {
	before, ok := strings.CutSuffix(strings.TrimRight(strings.ToLower(message), `"' .`), ": not found")
	return ok && strings.HasSuffix(strings.TrimRight(before, `"\`), strings.ToLower(tail(image)))
}

// tail returns the end of every spelling of an image: the repository with the tag or digest.
func tail(image string) string {
	name := repository(image)
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return "@" + digest
	}
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		return name + image[at:]
	}
	return name + ":latest"
}

// wrapper matches the parts of an error that only name the action that failed.
var wrapper = regexp.MustCompile(`(?i)^(failed to |error getting credentials|back-off |errimagepull$|imagepullbackoff$|rpc error|signaturevalidationfailed$|` +
	`registryunavailable$|image pull failed for |initializing source |pinging container registry |error response from daemon$|err$)`)

// sender matches the node's end of a connection, which differs at each attempt.
var sender = regexp.MustCompile(`\S+:\d+->`)

// innermost returns the last error of a chain, without the actions that it made fail.
func innermost(message string) string {
	for message = strings.TrimSpace(message); ; {
		if _, rest, ok := strings.Cut(message, " desc = "); ok && strings.HasPrefix(message, "rpc error") {
			message = rest
			continue
		}
		head, rest, ok := strings.Cut(message, ": ")
		if !wrapper.MatchString(head) {
			return sender.ReplaceAllString(message, "")
		}
		if !ok {
			return "" // It only names the action.
		}
		message = strings.TrimSpace(rest)
	}
}

// repository returns the name of an image without its registry, tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if host, path, ok := strings.Cut(name, "/"); ok && strings.ContainsAny(host, ".:") {
		name = path
	}
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	if name == "" {
		return image
	}
	return name
}

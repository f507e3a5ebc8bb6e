package deprecation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// Release is a minor release of Kubernetes, such as 1.29. Zero is unknown, or none.
type Release struct {
	Major, Minor int
}

// ParseRelease parses the release from a version, as a server or provider writes it: "1.29",
// "v1.35.2-gke.100", "1.36+".
func ParseRelease(s string) (Release, error) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	r := Release{Major: number(major), Minor: number(digits(rest))}
	if !ok || r.Major <= 0 || r.Minor < 0 {
		return Release{}, fmt.Errorf("%q is no version of Kubernetes such as 1.38", s)
	}
	return r, nil
}

// Server returns the release whose APIs a server serves: the one that it emulates (KEP-4330), else
// its own.
func Server(info version.Info) (Release, error) {
	if info.EmulationMajor != "" && info.EmulationMinor != "" {
		return ParseRelease(info.EmulationMajor + "." + info.EmulationMinor)
	}
	if info.Major != "" && info.Minor != "" {
		return ParseRelease(info.Major + "." + info.Minor)
	}
	return ParseRelease(info.GitVersion)
}

// String returns "1.29"; empty for the zero value.
func (r Release) String() string {
	if r.IsZero() {
		return ""
	}
	return strconv.Itoa(r.Major) + "." + strconv.Itoa(r.Minor)
}

// IsZero reports whether the release is not known.
func (r Release) IsZero() bool { return r == Release{} }

// Compare orders releases; an unknown one comes first.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor))
}

// reached reports whether a server of release r is at least at the other release.
func (r Release) reached(other Release) bool {
	return !r.IsZero() && !other.IsZero() && r.Compare(other) >= 0
}

// digits returns the leading digits: providers append to a minor.
func digits(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return s[:end]
	}
	return s
}

// number parses a number without a sign; -1 for anything else.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

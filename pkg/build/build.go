// Package build reports what this program was built from: version, commit and date.
//
// A release is stamped by its linker. Without a stamp it is what the Go tool recorded:
// the version of `go install …@version`, or the commit of a clone.
package build

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"time"
)

// The linker sets these: make binaries.
//
//nolint:gochecknoglobals // the linker can set nothing else
var (
	version string // such as v0.1.0, or v0.1.0-5-g0123456789ab between tags
	commit  string
	date    string // of the commit, in UTC, as in RFC 3339
)

// Info says what a program was built from. A field is empty if it is unknown.
type Info struct {
	// Version is the tag, with a leading v; "(devel)" if it is unknown.
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the commit's, in UTC: it is the same for two builds of a commit.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// This returns what the running program was built from.
func This() Info {
	info := Info{Version: version, Commit: commit, Date: date}
	if recorded, ok := debug.ReadBuildInfo(); ok && version == "" {
		info = fromGo(recorded)
	}
	if info.Version == "" {
		info.Version = "(devel)"
	}
	info.Go, info.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	return info
}

// fromGo reads what the Go tool recorded. The version that it makes up for a commit
// without a tag ends in the time and the first letters of the commit, and an
// installed program has no other trace of the two.
func fromGo(recorded *debug.BuildInfo) Info {
	info := Info{Version: recorded.Main.Version}
	if found := regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+|$)`).FindStringSubmatch(info.Version); found != nil {
		if at, err := time.Parse("20060102150405", found[1]); err == nil {
			info.Commit, info.Date = found[2], at.Format(time.RFC3339)
		}
	}
	for _, setting := range recorded.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = setting.Value
		}
	}
	return info
}

// Pages is where the pages of this project are, for every version.
const Pages = "https://github.com/k8sconnect/kubectl-k8sconnect/blob/"

// Page returns the address of a page in docs, such as "webhook.md#install", at the
// version of the running program: users of a released binary have no clone.
func Page(name string) string { return This().Page(name) }

// Page returns the address of a page in docs at a version: at the tag of a release, at
// the commit if there is no tag, or else the current one.
func (i Info) Page(name string) string {
	at := "main"
	switch {
	case regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.?\d+)?$`).MatchString(i.Version):
		at = i.Version
	case regexp.MustCompile(`^[0-9a-f]{12,40}$`).MatchString(i.Commit):
		at = i.Commit
	}
	return Pages + at + "/docs/" + name
}

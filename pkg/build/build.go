// Package build provides the version of this program, as set by the linker or else recorded by the
// Go tool. Call [This]. The package never reads files.
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
	date    string // of the commit, in UTC, in RFC 3339 format
)

// Info describes a build. Unknown fields are empty.
type Info struct {
	// Version is the tag with its leading v, or "(devel)".
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the date of the commit, in UTC, so that two builds of a commit have the same date.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// This returns the build of the running program.
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

// fromGo reads the build that the Go tool recorded. The pseudo-version of an untagged commit ends
// in the commit's time and the first digits of its hash. In a program installed with `go install`,
// the time and the hash are recorded only there.
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

// Pages is the URL prefix of the repository's files, without the version.
const Pages = "https://github.com/k8sconnect/kubectl-k8sconnect/blob/"

// Page returns the URL of a page in docs, such as "webhook.md#install", at this program's version.
func Page(name string) string { return This().Page(name) }

// Page returns the URL of a page in docs. The URL points to the tag for a release, to the commit
// for any other build with a known commit, and to the main branch if the commit is unknown.
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

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

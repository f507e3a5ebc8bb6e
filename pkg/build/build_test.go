package build

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The Go tool records different facts by how the program was installed.
func TestFromGo(t *testing.T) {
	for name, test := range map[string]struct {
		main     string
		settings map[string]string
		want     Info
	}{
		"go install of a tag": {
			main: "v0.1.0",
			want: Info{Version: "v0.1.0"},
		},
		"go install of a commit": {
			main: "v0.1.1-0.20260102030405-0123456789ab",
			want: Info{Version: "v0.1.1-0.20260102030405-0123456789ab", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"},
		},
		"go install of a commit before the first tag": {
			main: "v0.0.0-20260102030405-0123456789ab",
			want: Info{Version: "v0.0.0-20260102030405-0123456789ab", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"},
		},
		"go build in a changed clone": {
			main:     "v0.1.1-0.20260102030405-0123456789ab+dirty",
			settings: map[string]string{"vcs.revision": "0123456789abcdef0123456789abcdef01234567", "vcs.time": "2026-01-02T03:04:05Z"},
			want: Info{
				Version: "v0.1.1-0.20260102030405-0123456789ab+dirty",
				Commit:  "0123456789abcdef0123456789abcdef01234567", Date: "2026-01-02T03:04:05Z",
			},
		},
		"go build of an unpacked archive": {
			main: "(devel)",
			want: Info{Version: "(devel)"},
		},
		"version with an invalid time": {
			main: "v0.1.1-0.20269902030405-0123456789ab",
			want: Info{Version: "v0.1.1-0.20269902030405-0123456789ab"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := &debug.BuildInfo{Main: debug.Module{Version: test.main}}
			for key, value := range test.settings {
				recorded.Settings = append(recorded.Settings, debug.BuildSetting{Key: key, Value: value})
			}
			if got := fromGo(recorded); got != test.want {
				t.Errorf("%+v, not %+v", got, test.want)
			}
		})
	}
}

// A stamp is believed alone: a commit that the Go tool recorded may be of another
// repository, of whoever packages the program.
func TestStamp(t *testing.T) {
	version, commit, date = "v1.2.3", "c0ffee", "2026-01-02T03:04:05Z"
	t.Cleanup(func() { version, commit, date = "", "", "" })
	want := Info{
		Version: "v1.2.3", Commit: "c0ffee", Date: "2026-01-02T03:04:05Z",
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if got := This(); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func TestVersionIsNeverEmpty(t *testing.T) {
	if got := This(); got.Version == "" || got.Go == "" {
		t.Errorf("%+v", got)
	}
}

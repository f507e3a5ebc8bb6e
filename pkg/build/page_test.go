package build

import "testing"

func TestPage(t *testing.T) {
	for name, test := range map[string]struct {
		info Info
		want string
	}{
		"a release":                      {Info{Version: "v0.1.0", Commit: "0123456789abcdef0123456789abcdef01234567"}, "v0.1.0"},
		"a candidate":                    {Info{Version: "v0.1.0-rc.1"}, "v0.1.0-rc.1"},
		"between tags":                   {Info{Version: "v0.1.0-5-g0123456789ab", Commit: "0123456789abcdef0123456789abcdef01234567"}, "0123456789abcdef0123456789abcdef01234567"},
		"go install of a commit":         {Info{Version: "v0.1.1-0.20260102030405-0123456789ab", Commit: "0123456789ab"}, "0123456789ab"},
		"nothing is known":               {Info{Version: "(devel)"}, "main"},
		"between tags, without a commit": {Info{Version: "v0.1.0-5-g0123456789ab"}, "main"},
	} {
		t.Run(name, func(t *testing.T) {
			want := "https://github.com/k8sconnect/kubectl-k8sconnect/blob/" + test.want + "/docs/webhook.md#install"
			if got := test.info.Page("webhook.md#install"); got != want {
				t.Errorf("%s, not %s", got, want)
			}
		})
	}
}

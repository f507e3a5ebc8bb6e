package deprecation_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/version"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

func TestParseRelease(t *testing.T) {
	for in, want := range map[string]string{
		"1.29":                "1.29",
		"v1.35.2-gke.100":     "1.35",
		"v1.36.3+k3s1":        "1.36",
		"1.36+":               "1.36",
		"v1.30.0-alpha.0":     "1.30",
		"":                    "",
		"1":                   "",
		"v.36":                "",
		"one.two":             "",
		"1.":                  "",
		"-1.2":                "",
		"1.-2":                "",
		"0.29":                "",
		"1.99999999999999999": "",
	} {
		got, err := deprecation.ParseRelease(in)
		if got.String() != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestServer(t *testing.T) {
	for name, tt := range map[string]struct {
		info version.Info
		want string
	}{
		"major and minor":       {version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}, "1.36"},
		"version of a provider": {version.Info{Major: "1", Minor: "36+", GitVersion: "v1.36.3-eks-1"}, "1.36"},
		"git version only":      {version.Info{GitVersion: "v1.35.2-gke.100"}, "1.35"},
		"emulating": {version.Info{
			Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "34",
			MinCompatibilityMajor: "1", MinCompatibilityMinor: "33", GitVersion: "v1.36.3",
		}, "1.34"},
		"nothing": {version.Info{}, ""},
	} {
		got, err := deprecation.Server(tt.info)
		if got.String() != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

package diagnose

import (
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	if got := Quote("a\x1b[31m\nb\u202e"); got != `a\x1b[31m b\u202e` {
		t.Errorf("Quote: %q", got)
	}
	if got := []rune(Quote(strings.Repeat("é", 1000))); len(got) > longest+3 {
		t.Errorf("%d characters", len(got))
	}
	for in, want := range map[string]string{"a.b/c-1": "a.b/c-1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := Word(in); got != want {
			t.Errorf("Word(%q) is %s, want %s", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{-time.Second: "0s", 90 * time.Second: "90s", time.Hour: "60m", 30 * time.Hour: "30h", 72 * time.Hour: "3d"} {
		if got := Ago(in); got != want {
			t.Errorf("Ago(%s) is %s, want %s", in, got, want)
		}
	}
}

func TestOperators(t *testing.T) {
	for finalizer, want := range map[string]string{
		"resources-finalizer.argocd.argoproj.io":            "Argo CD",
		"resources-finalizer.argocd.argoproj.io/background": "Argo CD",
		"finalizers.fluxcd.io":                              "Flux",
		"service.k8s.aws/resources":                         "the AWS Load Balancer Controller",
		"external-attacher/ebs-csi-aws-com":                 "the CSI driver's attacher",
		"post-delete-finalizer.argocd.argoproj.io/cleanup":  "Argo CD",
		"example.com/argocd.argoproj.io":                    "",
		"longhorn.io":                                       "Longhorn",
		"notlonghorn.io":                                    "",
	} {
		if got := operatorOf(finalizer).name; got != want {
			t.Errorf("%s is of %q, want %q", finalizer, got, want)
		}
	}
}

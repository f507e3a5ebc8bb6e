package diagnose

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
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
			t.Errorf("%s belongs to %q, want %q", finalizer, got, want)
		}
	}
}

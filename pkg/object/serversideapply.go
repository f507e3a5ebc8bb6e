package object

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LacksServerSideApply reports whether an API server cannot read the body of a server-side apply, as
// some aggregated ones. Most answer 415. Others answer with an internal error that only its message
// distinguishes from a passing one (projectcalico/calico#4959, istio/istio#51255).
func LacksServerSideApply(s metav1.Status) bool {
	const unsupportedMediaType, internalServerError = 415, 500
	return s.Code == unsupportedMediaType ||
		s.Code == internalServerError && strings.Contains(s.Message, "no serializer defined")
}

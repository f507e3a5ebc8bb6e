package noop

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// completes reports whether the server turns the declared value into the live one by respelling
// quantities and adding defaults.
func completes(declared, live any, schema openapi.Type) bool {
	switch v := declared.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		return ok && completesMap(v, l, schema)
	case []any:
		l, ok := live.([]any)
		if !ok || len(v) != len(l) {
			return false
		}
		items := openapi.Items(schema)
		for i := range v {
			if !completes(v[i], l[i], items) {
				return false
			}
		}
		return true
	case nil:
		return false // The server may drop a null or keep it.
	}
	return fieldpath.Equal(declared, live) || isQuantity(schema) && sameQuantity(declared, live)
}

func completesMap(declared, live map[string]any, schema openapi.Type) bool {
	builtin := schema != nil && openapi.IsBuiltIn(schema)
	for name, v := range declared {
		l, has := live[name]
		if l == nil && isZero(v) && leavesOut(schema, name, v) {
			continue
		}
		if !has || !completes(v, l, fieldOf(schema, name)) {
			return false
		}
	}
	for name, l := range live {
		if _, has := declared[name]; has || builtin && l == nil {
			continue
		}
		value, ok := defaultOf(schema, name)
		if !ok || !completes(value, l, openapi.Field(schema, name)) {
			return false
		}
	}
	if schema == nil {
		return true
	}
	// If the live value lacks a default, the next apply would add it.
	for _, name := range schema.Properties() {
		value := schema.Property(name).Default()
		if _, has := live[name]; !has && value != nil && !isZero(value) {
			return false
		}
	}
	return true
}

// leavesOut reports whether the server omits a zero or null field, as it does in some of
// Kubernetes' own types.
func leavesOut(schema openapi.Type, name string, v any) bool {
	switch {
	case schema == nil:
		return false
	case openapi.IsBuiltIn(schema), strings.HasPrefix(schema.Name(), metaTypes):
		return v == nil || !isWrittenSomewhere(name)
	case strings.HasPrefix(schema.Name(), definitionTypes):
		return v == nil && name != "default" && name != "example" || !isWrittenInDefinitions(name)
	}
	return false
}

const (
	metaTypes       = "io.k8s.apimachinery.pkg.apis.meta.v1."
	definitionTypes = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
)

// fieldOf returns the schema of a field, like [openapi.Field]. Some fields of a CRD's schema may be
// a schema, a list or a boolean. fieldOf assumes that they are a schema, as is usual.
func fieldOf(schema openapi.Type, name string) openapi.Type {
	field := openapi.Field(schema, name)
	if field != nil && strings.HasPrefix(field.Name(), definitionTypes+"JSONSchemaPropsOr") {
		return schema
	}
	return field
}

func defaultOf(schema openapi.Type, name string) (any, bool) {
	if schema == nil {
		return nil, false
	}
	if value, ok := unpublishedDefault(schema.Name(), name); ok {
		return value, true
	}
	field := schema.Property(name)
	if field == nil {
		return nil, false
	}
	return field.Default(), field.Default() != nil
}

// unpublishedDefault returns a default that the API server sets in code for a field inside an
// atomic value, but does not declare in its published schema. The defaults are from Kubernetes'
// defaulting functions (pkg/apis/*/v1/defaults.go) and the documentation of k8s.io/api.
func unpublishedDefault(typ, field string) (any, bool) {
	switch typ + "." + field {
	case "io.k8s.api.core.v1.ObjectFieldSelector.apiVersion":
		return "v1", true
	case "io.k8s.api.core.v1.ResourceFieldSelector.divisor":
		return "0", true
	case "io.k8s.api.networking.v1.NetworkPolicyPort.protocol", "io.k8s.api.core.v1.EndpointPort.protocol":
		return "TCP", true
	case "io.k8s.api.admissionregistration.v1.RuleWithOperations.scope",
		"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations.scope":
		return "*", true
	case "io.k8s.api.admissionregistration.v1.MatchResources.matchPolicy":
		return "Equivalent", true
	case "io.k8s.api.admissionregistration.v1.MatchResources.namespaceSelector",
		"io.k8s.api.admissionregistration.v1.MatchResources.objectSelector",
		"io.k8s.api.admissionregistration.v1.MutatingWebhook.namespaceSelector",
		"io.k8s.api.admissionregistration.v1.MutatingWebhook.objectSelector",
		"io.k8s.api.admissionregistration.v1.ValidatingWebhook.namespaceSelector",
		"io.k8s.api.admissionregistration.v1.ValidatingWebhook.objectSelector":
		return map[string]any{}, true
	case "io.k8s.api.core.v1.PodSpec.securityContext":
		return map[string]any{}, true
	case "io.k8s.api.resource.v1.ExactDeviceRequest.allocationMode", "io.k8s.api.resource.v1.DeviceSubRequest.allocationMode":
		return "ExactCount", true
	case "io.k8s.api.resource.v1.ExactDeviceRequest.count", "io.k8s.api.resource.v1.DeviceSubRequest.count":
		return int64(1), true // The server does not set it if all devices are requested.
	case "io.k8s.api.resource.v1.DeviceToleration.operator":
		return "Equal", true
	// A StatefulSet's claim templates are one atomic value. The server adds the same defaults to
	// each template as to a new claim.
	case "io.k8s.api.core.v1.PersistentVolumeClaim.apiVersion":
		return "v1", true
	case "io.k8s.api.core.v1.PersistentVolumeClaim.kind":
		return "PersistentVolumeClaim", true
	case "io.k8s.api.core.v1.PersistentVolumeClaim.status":
		return map[string]any{"phase": "Pending"}, true
	case "io.k8s.api.core.v1.PersistentVolumeClaimSpec.volumeMode":
		return "Filesystem", true
	}
	return nil, false
}

// The schemas of Kubernetes' own kinds declare a zero or empty default for each required field, but
// the server does not fill it in.
func isZero(v any) bool { return fieldpath.IsZero(v) }

// covers reports whether the live value contains all of the declared value, apart from fields that
// are zero. Otherwise the live value cannot be the declared value plus defaults.
func covers(live, declared any) bool {
	switch v := declared.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name := range v {
			below, has := l[name]
			if (has || !isZero(v[name])) && !covers(below, v[name]) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		if !ok || len(v) > 0 && len(v) != len(l) {
			return false
		}
		for i := range v {
			if !covers(l[i], v[i]) {
				return false
			}
		}
		return true
	}
	return fieldpath.Equal(declared, live) || sameQuantity(declared, live)
}

func isQuantity(schema openapi.Type) bool {
	return schema != nil && schema.Name() == "io.k8s.apimachinery.pkg.api.resource.Quantity"
}

func sameQuantity(declared, live any) bool {
	text, ok := live.(string)
	if !ok || declared == nil || fieldpath.IsContainer(declared) {
		return false
	}
	if _, isBool := declared.(bool); isBool {
		return false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(declared))
	return err == nil && q.String() == text
}

package settle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// completes reports whether the server makes the live value of a stated one: the
// quantities in its own spelling, and what is not stated by its defaults.
func completes(stated, live any, schema openapi.Type) bool {
	switch v := stated.(type) {
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
		return false // The server may drop it or keep it.
	}
	return fieldpath.Equal(stated, live) || isQuantity(schema) && sameQuantity(stated, live)
}

func completesMap(stated, live map[string]any, schema openapi.Type) bool {
	builtin := schema != nil && openapi.IsBuiltIn(schema)
	for name, v := range stated {
		l, has := live[name]
		if builtin && l == nil && v != nil && isZero(v) {
			continue // not written out
		}
		if !has || !completes(v, l, openapi.Field(schema, name)) {
			return false
		}
	}
	for name, l := range live {
		if _, has := stated[name]; has || builtin && l == nil {
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
	// A default that is not live would come with the next apply.
	for _, name := range schema.Properties() {
		value := schema.Property(name).Default()
		if _, has := live[name]; !has && value != nil && !isZero(value) {
			return false
		}
	}
	return true
}

// defaultOf returns what the server puts into a field that is not stated.
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

// unpublishedDefault returns defaults that the API server sets by its code, and that
// its schema does not tell, of types that stand inside atomic values. Their sources
// are the defaulting functions of Kubernetes (pkg/apis/*/v1/defaults.go) and of
// k8s.io/api's documentation of the field.
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
		"io.k8s.api.admissionregistration.v1.MatchResources.objectSelector":
		return map[string]any{}, true
	}
	return nil, false
}

// isZero reports whether a default is one that the schema of Kubernetes' own kinds
// tells of every field that must be there; it says nothing of a field that is not.
func isZero(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case nil:
		return true
	}
	return fieldpath.IsEmpty(v) || fmt.Sprint(v) == "0"
}

// covers reports whether a value holds all that is stated, so that it may be what the
// server made of it.
func covers(live, stated any) bool {
	switch v := stated.(type) {
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
	return fieldpath.Equal(stated, live) || sameQuantity(stated, live)
}

func isQuantity(schema openapi.Type) bool {
	return schema != nil && schema.Name() == "io.k8s.apimachinery.pkg.api.resource.Quantity"
}

// sameQuantity reports whether the live text is how the server writes the quantity that
// is stated as a text or a number.
func sameQuantity(stated, live any) bool {
	text, ok := live.(string)
	if !ok || stated == nil || fieldpath.IsContainer(stated) {
		return false
	}
	if _, isBool := stated.(bool); isBool {
		return false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(stated))
	return err == nil && q.String() == text
}

package plan

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// dependsOnAnnotation names what has to be applied before an object. The format is
// that of cli-utils, Config Sync and kpt: references separated by commas, each
// GROUP/KIND/NAME, or GROUP/namespaces/NAMESPACE/KIND/NAME; the group of the core
// kinds is empty.
const dependsOnAnnotation = "config.kubernetes.io/depends-on"

// dependsOn reads the annotation. Every malformed reference is an error, because
// the order that its author relies on would be lost.
func dependsOn(it Item) ([]object.Key, []error) {
	value := annotation(it, dependsOnAnnotation)
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var keys []object.Key
	var faults []error
	for ref := range strings.SplitSeq(value, ",") {
		key, ok := parseRef(strings.TrimSpace(ref))
		if !ok {
			faults = append(faults, it.fault(fmt.Sprintf("%s: %q is not a reference", dependsOnAnnotation, ref), "",
				"write GROUP/KIND/NAME, or GROUP/namespaces/NAMESPACE/KIND/NAME; for core kinds, GROUP is empty: /namespaces/prod/ConfigMap/app"))
			continue
		}
		keys = append(keys, key)
	}
	return keys, faults
}

func parseRef(ref string) (object.Key, bool) {
	parts := strings.Split(ref, "/")
	var key object.Key
	switch {
	case len(parts) == 3:
		key = object.Key{Group: parts[0], Kind: parts[1], Name: parts[2]}
	case len(parts) == 5 && parts[1] == "namespaces" && parts[2] != "":
		key = object.Key{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}
	}
	return key, key.Kind != "" && key.Name != ""
}

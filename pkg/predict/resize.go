package predict

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// resizeCommand returns the command that changes the CPU and memory of a running Pod, and false if
// the refused changes contain anything else. An apply cannot change them, but an update of the
// subresource resize can (KEP-1287).
func resizeCommand(in *Prediction, fields []refused) (string, bool) {
	if in.Item.GVK.GroupKind() != (schema.GroupKind{Kind: "Pod"}) {
		return "", false
	}
	type item struct {
		Name      string                    `json:"name"`
		Resources map[string]map[string]any `json:"resources"`
	}
	lists := map[string][]*item{}
	for _, f := range fields {
		list, name, resource, ok := resizable(f.path)
		value, declared := f.path.Get(in.Body.Object)
		if !ok || !declared {
			return "", false
		}
		var to *item
		for _, existing := range lists[list] {
			if existing.Name == name {
				to = existing
			}
		}
		if to == nil {
			to = &item{Name: name, Resources: map[string]map[string]any{}}
			lists[list] = append(lists[list], to)
		}
		if to.Resources[resource[0]] == nil {
			to.Resources[resource[0]] = map[string]any{}
		}
		to.Resources[resource[0]][resource[1]] = value
	}
	patch, err := json.Marshal(map[string]any{"spec": lists})
	if err != nil || len(fields) == 0 {
		return "", false
	}
	on := text.ShellQuote(in.Item.Resource())
	if ns := in.Item.Namespace; ns != "" {
		on += " -n " + text.ShellQuote(ns)
	}
	return command.Kubectl("patch") + " " + on + " --subresource=resize -p " + text.ShellQuote(string(patch)), true
}

// resizable splits a path such as .spec.containers[name="app"].resources.requests.cpu.
func resizable(path fieldpath.Path) (list, name string, resource [2]string, ok bool) {
	const parts = 6
	if len(path) != parts {
		return "", "", resource, false
	}
	var names [parts]string
	for i, pe := range path {
		switch {
		case pe.FieldName != nil:
			names[i] = *pe.FieldName
		case i == 2 && pe.Key != nil:
			key, _ := fieldpath.KeyField(pe, "name")
			names[i], _ = key.(string)
		}
	}
	ok = names[0] == "spec" && (names[1] == "containers" || names[1] == "initContainers") && names[2] != "" &&
		names[3] == "resources" && (names[4] == "requests" || names[4] == "limits") && (names[5] == "cpu" || names[5] == "memory")
	return names[1], names[2], [2]string{names[4], names[5]}, ok
}

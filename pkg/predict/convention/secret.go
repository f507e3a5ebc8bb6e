package convention

import (
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WithoutStringData returns a Secret with its stringData moved to data, as the server
// would do. Only in data does it have an owner: the server does not keep stringData, so
// two appliers would overwrite each other without a conflict (edge case 12). Other
// objects, and Secrets that the server would refuse, are returned as they are.
func WithoutStringData(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return u
	}
	plain, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return u
	}
	data := map[string]any{}
	switch stated := u.Object["data"].(type) {
	case nil:
	case map[string]any:
		maps.Copy(data, stated)
	default:
		return u
	}
	for key, value := range plain {
		text, ok := value.(string)
		if !ok {
			return u
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out := maps.Clone(u.Object)
	delete(out, "stringData")
	out["data"] = data
	return &unstructured.Unstructured{Object: out}
}

package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Digest is the same for every input that states the same objects in the same order.
func Digest(manifests []*unstructured.Unstructured) (string, error) {
	sum := sha256.New()
	enc := json.NewEncoder(sum)
	for _, u := range manifests {
		if err := enc.Encode(u.Object); err != nil { // Keys are sorted.
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

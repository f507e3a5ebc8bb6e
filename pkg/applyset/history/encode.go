package history

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// Label is on every Secret of the history. Its value is the id of the set.
	Label = "k8sconnect.io/history-of"
	// Type is the type of every Secret of the history.
	Type = "k8sconnect.io/history"

	runNote     = "k8sconnect.io/run"
	startedNote = "k8sconnect.io/started"
	whoNote     = "k8sconnect.io/who"
	resultNote  = "k8sconnect.io/result"
	inputNote   = "k8sconnect.io/input"
	partNote    = "k8sconnect.io/part" // PART/PARTS, such as 1/3
	sumNote     = "k8sconnect.io/sum"  // a digest of all parts
	tooLarge    = "k8sconnect.io/too-large"
	formatNote  = "k8sconnect.io/history-format"
	placeNote   = "k8sconnect.io/place"
	failedNote  = "k8sconnect.io/failed" // objects, one a line
	field       = "objects"

	// The server limits the data of a Secret to 1 MiB.
	partSize = 768 << 10
	// 12 MiB of compressed data can hold far more than 10,000 objects.
	mostParts = 16
)

type stored struct {
	Manifest map[string]any `json:"manifest"`
	Withheld bool           `json:"withheld,omitempty"`
}

// Encode returns the Secrets that store a run in the parent's namespace. A run that is too large is
// stored without its objects (see [Run.TooLarge]).
func Encode(parent object.Ref, set string, run Run) ([]*unstructured.Unstructured, error) {
	var content []byte
	if !run.TooLarge {
		var err error
		if content, err = compress(run.Objects); err != nil {
			return nil, err
		}
		run.TooLarge = len(content) > partSize*mostParts
	}
	if run.TooLarge {
		content = nil
	}
	where, err := json.Marshal(run.Place)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	parts := max(1, (len(content)+partSize-1)/partSize)
	secrets := make([]*unstructured.Unstructured, parts)
	for i := range secrets {
		notes := map[string]any{
			runNote: run.ID, startedNote: run.Started.UTC().Format(time.RFC3339Nano), whoNote: run.Who,
			resultNote: string(run.Result), inputNote: run.Input,
			partNote: fmt.Sprintf("%d/%d", i+1, parts), sumNote: hex.EncodeToString(sum[:]),
			formatNote: strconv.Itoa(format),
		}
		if run.Place.Number > 0 {
			notes[placeNote] = string(where)
		}
		if run.TooLarge {
			notes[tooLarge] = "true"
		}
		if len(run.Failed) > 0 {
			notes[failedNote] = strings.Join(run.Failed, "\n")
		}
		part := content[min(i*partSize, len(content)):min((i+1)*partSize, len(content))]
		secrets[i] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": Type,
			"metadata": map[string]any{
				"name":        fmt.Sprintf("%s.%s.%d", set, nameOf(run), i+1),
				"labels":      map[string]any{Label: set},
				"annotations": notes,
			},
			"data": map[string]any{field: base64.StdEncoding.EncodeToString(part)},
		}}
		secrets[i].SetNamespace(parent.Namespace)
	}
	return secrets, nil
}

// nameOf returns a digest of the run's input and id, because a user's id might not be a valid name.
// A second attempt with the same id and input replaces the first.
func nameOf(run Run) string {
	const enough = 6 // bytes that distinguish the runs of one history
	sum := sha256.Sum256([]byte(run.ID + "\n" + run.Input))
	return hex.EncodeToString(sum[:enough])
}

func compress(objects []Object) ([]byte, error) {
	all := make([]stored, len(objects))
	for i, o := range objects {
		all[i] = stored{Manifest: o.Manifest.Object, Withheld: o.Withheld}
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(all); err != nil {
		return nil, fmt.Errorf("encode the manifests of the run: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func partOf(text string) (part, of int, err error) {
	first, second, _ := strings.Cut(text, "/")
	part, err = strconv.Atoi(first)
	if err == nil {
		of, err = strconv.Atoi(second)
	}
	if err != nil || part < 1 || of < part || of > mostParts {
		return 0, 0, fmt.Errorf("%q is not PART/PARTS", text)
	}
	return part, of, nil
}

// Digest returns a digest of the objects in the given order.
func Digest(manifests []*unstructured.Unstructured) (string, error) {
	sum := sha256.New()
	enc := json.NewEncoder(sum)
	for _, u := range manifests {
		if err := enc.Encode(u.Object); err != nil { // The encoder sorts keys.
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// mostText bounds the size of an unpacked run, because any user may have written the
// Secrets.
const mostText = 256 << 20

// Decode reads the Secrets of a set's history, the newest run first. A run with a missing
// or changed part is a fault of its own, and does not prevent the others from being read.
func Decode(secrets []*unstructured.Unstructured) (runs []Run, faults []error) {
	byRun := map[key][]*unstructured.Unstructured{}
	for _, u := range secrets {
		id := u.GetAnnotations()[runNote]
		if id == "" {
			faults = append(faults, &FaultError{Run: u.GetName(), Err: errors.New("it does not say which run it is of")})
			continue
		}
		byRun[keyOf(u)] = append(byRun[keyOf(u)], u)
	}
	for _, k := range slices.SortedFunc(maps.Keys(byRun), key.compare) {
		run, err := decode(k.id, byRun[k])
		if err != nil {
			run.Objects, run.damage = nil, err
			faults = append(faults, &FaultError{Run: k.id, Err: err, of: run})
			continue
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, newestFirst)
	return runs, faults
}

// key tells runs apart. People choose ids, and may give one to runs that state different
// things.
type key struct{ id, input string }

func keyOf(u *unstructured.Unstructured) key {
	notes := u.GetAnnotations()
	return key{notes[runNote], notes[inputNote]}
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.id, other.id), cmp.Compare(k.input, other.input))
}

func decode(id string, parts []*unstructured.Unstructured) (Run, error) {
	run, err := head(id, parts[0].GetAnnotations())
	if err != nil {
		return run, err
	}
	content, err := join(parts)
	if err != nil || run.TooLarge {
		return run, err
	}
	run.Objects, err = unpack(content)
	return run, err
}

// join puts the parts of a run together.
func join(secrets []*unstructured.Unstructured) ([]byte, error) {
	parts := map[int][]byte{}
	want, total := "", 0
	for _, u := range secrets {
		notes := u.GetAnnotations()
		part, of, err := place(notes[partNote])
		if err != nil {
			return nil, err
		}
		text, _, _ := unstructured.NestedString(u.Object, "data", field)
		if parts[part], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("part %d: %w", part, err)
		}
		want, total = notes[sumNote], of
	}
	var content []byte
	for i := range total {
		part, there := parts[i+1]
		if !there {
			return nil, fmt.Errorf("part %d of %d is missing", i+1, total)
		}
		content = append(content, part...)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
		return nil, errors.New("its parts are not those that were written")
	}
	return content, nil
}

func unpack(content []byte) ([]Object, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, mostText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostText {
		return nil, fmt.Errorf("it is larger than %d bytes", mostText)
	}
	var all []stored
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	objects := make([]Object, len(all))
	for i, s := range all {
		if objects[i] = (Object{Manifest: &unstructured.Unstructured{Object: s.Manifest}, Withheld: s.Withheld}); s.Manifest["kind"] == nil {
			return nil, fmt.Errorf("object %d of it has no kind", i)
		}
	}
	return objects, nil
}

// Heads returns the runs without their objects, the newest first, from the annotations of
// their Secrets alone. It leaves out a run without a start time.
func Heads(secrets []*unstructured.Unstructured) []Run {
	var runs []Run
	seen := map[key]bool{}
	for _, u := range secrets {
		k := keyOf(u)
		if k.id == "" || seen[k] {
			continue
		}
		if run, err := head(k.id, u.GetAnnotations()); err == nil {
			seen[k] = true
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, newestFirst)
	return runs
}

func head(id string, notes map[string]string) (Run, error) {
	run := Run{ID: id, Who: notes[whoNote], Result: Result(notes[resultNote]), Input: notes[inputNote], TooLarge: notes[tooLarge] == "true"}
	var err error
	if run.Started, err = time.Parse(time.RFC3339Nano, notes[startedNote]); err != nil {
		return run, fmt.Errorf("when it began: %w", err)
	}
	return run, nil
}

// Excess returns the Secrets of runs beyond the limit, the oldest first. The newest
// usable run and the one before it always stay, because a rollback leads to one of them.
// So does a Secret without a start time, since its content is unknown.
func Excess(secrets []*unstructured.Unstructured, keep int) []*unstructured.Unstructured {
	goes := map[key]bool{}
	usable := 0
	for i, r := range Heads(secrets) {
		if r.Usable() {
			usable++
		}
		goes[key{r.ID, r.Input}] = i >= keep && (!r.Usable() || usable > 2)
	}
	var excess []*unstructured.Unstructured
	for _, u := range secrets {
		if goes[keyOf(u)] {
			excess = append(excess, u)
		}
	}
	slices.SortStableFunc(excess, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetAnnotations()[startedNote], b.GetAnnotations()[startedNote])
	})
	return excess
}

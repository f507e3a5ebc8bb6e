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

// mostText limits the size of a decompressed run, because any user may have written the Secrets.
const mostText = 256 << 20

// Decode reads the Secrets of a set's history. The newest run comes first. A run with a missing or
// changed part is returned as a fault and does not affect the others.
func Decode(secrets []*unstructured.Unstructured) (runs []Run, faults []error) {
	return readEach(secrets, decode)
}

func readEach(secrets []*unstructured.Unstructured, read func([]*unstructured.Unstructured) (Run, error)) (runs []Run, faults []error) {
	byRun, faults := grouped(secrets)
	byID := func(a, b Name) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Input, b.Input)) }
	for _, name := range slices.SortedFunc(maps.Keys(byRun), byID) {
		run, err := read(byRun[name])
		if err != nil {
			run.Objects, run.damage = nil, err
			faults = append(faults, &FaultError{Run: name.ID, Err: err, of: run})
			continue
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, newestFirst)
	return runs, faults
}

// grouped groups the Secrets by run. It reports as faults the Secrets written by a later version of
// this program, and those without a run id.
func grouped(secrets []*unstructured.Unstructured) (byRun map[Name][]*unstructured.Unstructured, faults []error) {
	byRun = map[Name][]*unstructured.Unstructured{}
	reported := map[string]bool{}
	for _, u := range secrets {
		id, written := u.GetAnnotations()[runNote], u.GetAnnotations()[formatNote]
		switch {
		case written != "" && later(written) != nil:
			if id = cmp.Or(id, u.GetName()); !reported[id] {
				reported[id] = true
				faults = append(faults, &FaultError{Run: id, Err: later(written), blind: true})
			}
		case id == "":
			faults = append(faults, &FaultError{Run: u.GetName(), Err: errors.New("this Secret does not name its run")})
		default:
			byRun[nameIn(u)] = append(byRun[nameIn(u)], u)
		}
	}
	return byRun, faults
}

func nameIn(u *unstructured.Unstructured) Name {
	notes := u.GetAnnotations()
	return Name{notes[runNote], notes[inputNote]}
}

func decode(parts []*unstructured.Unstructured) (Run, error) {
	run, err := head(parts[0].GetAnnotations())
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

func join(secrets []*unstructured.Unstructured) ([]byte, error) {
	parts := map[int][]byte{}
	want, total := "", 0
	for _, u := range secrets {
		notes := u.GetAnnotations()
		part, of, err := partOf(notes[partNote])
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
		return nil, errors.New("its parts have been changed")
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
			return nil, fmt.Errorf("object %d has no kind", i)
		}
	}
	return objects, nil
}

// Heads returns the runs without their objects, newest first. It reads only annotations. A run with
// unreadable annotations is returned as a fault.
func Heads(secrets []*unstructured.Unstructured) (runs []Run, faults []error) {
	return readEach(secrets, func(parts []*unstructured.Unstructured) (Run, error) { return head(parts[0].GetAnnotations()) })
}

func head(notes map[string]string) (Run, error) {
	run := Run{ID: notes[runNote], Who: notes[whoNote], Result: Result(notes[resultNote]), Input: notes[inputNote], TooLarge: notes[tooLarge] == "true"}
	if failed := notes[failedNote]; failed != "" {
		run.Failed = strings.Split(failed, "\n")
	}
	var err error
	if run.Started, err = time.Parse(time.RFC3339Nano, notes[startedNote]); err != nil {
		return run, fmt.Errorf("its start time: %w", err)
	}
	if where := notes[placeNote]; where != "" {
		if err := json.Unmarshal([]byte(where), &run.Place); err != nil {
			run.Place = Place{}
			return run, fmt.Errorf("its place: %w", err)
		}
	}
	return run, nil
}

// Excess returns the Secrets of the runs that exceed the limit (keep), oldest first. It never
// returns those of the two newest successful runs or of the two newest usable runs, because users
// roll back to these runs. It also never returns those of the newest run or of the last successful
// run before it, or Secrets with unreadable annotations.
func Excess(secrets []*unstructured.Unstructured, keep int) []*unstructured.Unstructured {
	runs, _ := Heads(secrets)
	stays := map[Name]bool{}
	if last, ok := newest(runs); ok {
		stays[last.Name()], stays[last.Place.Before] = true, true
	}
	goes := map[Name]bool{}
	const enough = 2
	usable, applied := 0, 0
	for i, r := range runs {
		if r.Usable() {
			usable++
		}
		if r.Result == Applied {
			applied++
		}
		needed := r.Usable() && usable <= enough || r.Result == Applied && applied <= enough
		goes[r.Name()] = i >= keep && !needed && !stays[r.Name()]
	}
	var excess []*unstructured.Unstructured
	for _, u := range secrets {
		if goes[nameIn(u)] {
			excess = append(excess, u)
		}
	}
	slices.SortStableFunc(excess, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetAnnotations()[startedNote], b.GetAnnotations()[startedNote])
	})
	return excess
}

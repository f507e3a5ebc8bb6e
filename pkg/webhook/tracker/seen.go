package tracker

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

const (
	// maxSeen and maxReported limit the sizes, in bytes, of the leader's notes and of another replica's
	// notes. Together with the notes of replicas that have exited, they must fit into a ConfigMap,
	// which holds at most a megabyte.
	maxSeen, maxReported = 400 << 10, 100 << 10
	maxNotes             = 10_000
	// maxDecoded bounds the size of notes after decoding, in bytes.
	maxDecoded = 64 << 20
)

type unrecorded struct {
	ownership.Occurrence
	// since is the earliest time at which the occurrence may have happened.
	since time.Time
}

// note contains the changes to one object that have been seen but not recorded yet. Notes are
// stored with the checkpoint, so that the checkpoint need not wait until the changes are recorded.
type note struct {
	Object  ownership.Object `json:"object"`
	Changes []noted          `json:"changes"`
}

type noted struct {
	Path            string             `json:"path"`
	Before          []ownership.Holder `json:"from"`
	After           []ownership.Holder `json:"to"`
	Kind            ownership.Kind     `json:"kind"`
	Why             ownership.Why      `json:"why,omitempty"`
	Forced          bool               `json:"forced,omitempty"`
	Gap             bool               `json:"gap,omitempty"`
	User            string             `json:"user,omitempty"`
	FromValue       string             `json:"fromValue,omitempty"`
	ToValue         string             `json:"toValue,omitempty"`
	ResourceVersion string             `json:"version"`
	Time            time.Time          `json:"time"`
	Since           time.Time          `json:"since"`
	Omitted         int                `json:"omitted,omitempty"`
}

func encodeSeen(occurrences []unrecorded) ([]byte, error) {
	type key struct {
		uid           types.UID
		path, version string
		gap           bool
	}
	notes, of, at := []*note{}, map[types.UID]*note{}, map[key]int{}
	for _, o := range occurrences {
		n := noted{
			Path: o.Path.String(), Before: ownership.HoldersOf(o.Before), After: ownership.HoldersOf(o.After), Kind: o.Kind, Why: o.Why,
			Forced: o.Forced, Gap: o.Gap, User: o.User, ResourceVersion: o.ResourceVersion, Time: o.Time.UTC(), Since: o.since.UTC(),
			FromValue: o.Values.From, ToValue: o.Values.To, Omitted: o.Omitted,
		}
		list := of[o.Object.UID]
		if list == nil {
			list = &note{Object: o.Object}
			notes, of[o.Object.UID] = append(notes, list), list
		}
		k := key{o.Object.UID, n.Path, n.ResourceVersion, n.Gap}
		if i, ok := at[k]; ok {
			if list.Changes[i].User == "" {
				list.Changes[i] = n
			}
			continue
		}
		at[k] = len(list.Changes)
		list.Changes = append(list.Changes, n)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(notes); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func decodeSeen(content []byte) ([]unrecorded, error) {
	if len(content) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var notes []note
	if err := json.NewDecoder(io.LimitReader(r, maxDecoded)).Decode(&notes); err != nil {
		return nil, err
	}
	var out []unrecorded
	for _, n := range notes {
		for _, c := range n.Changes {
			path, err := fieldpath.ParsePath(c.Path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Object.Name, err)
			}
			out = append(out, unrecorded{ownership.Occurrence{
				Object: n.Object,
				Transition: ownership.Transition{
					Path: path, Before: ownership.OwnersOf(c.Before), After: ownership.OwnersOf(c.After), Kind: c.Kind, Why: c.Why, Forced: c.Forced,
					Values: ownership.ValueChange{From: c.FromValue, To: c.ToValue},
				},
				Occasion: ownership.Occasion{ResourceVersion: c.ResourceVersion, Time: c.Time, User: c.User, Gap: c.Gap, Noted: true, Omitted: c.Omitted},
			}, c.Since})
		}
	}
	return out, nil
}

package ownership

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// maxBytes bounds the entries of a record as JSON, so that a record that is written every few
// seconds is no burden on etcd. Entries of usual length all fit; owners with the longest possible
// names may use up the room sooner.
const maxBytes = 128 << 10

// surplus returns how many of the oldest entries do not fit; the newest one always fits.
func (r *Record) surplus() int {
	size := 0
	for i, e := range slices.Backward(r.Entries) {
		size += e.size()
		if kept := len(r.Entries) - i; kept > maxEntries || kept > 1 && size > maxBytes {
			return i + 1
		}
	}
	return 0
}

// size returns the largest number of bytes that an entry can take as JSON.
func (e Entry) size() int {
	const (
		entry   = 360 // names of fields, punctuation, numbers, times
		holder  = 80
		version = 8
	)
	size := entry + quoted(e.Path) + quoted(e.User) + quoted(e.FromValue) + quoted(e.ToValue)
	for _, holders := range [][]Holder{e.From, e.To} {
		for _, h := range holders {
			size += holder + quoted(h.Manager) + quoted(h.Operation) + quoted(h.Subresource) + quoted(h.APIVersion)
		}
	}
	for _, v := range e.ResourceVersions {
		size += version + quoted(v)
	}
	return size
}

// quoted returns the largest number of bytes that a text can take within a JSON string.
func quoted(text string) int {
	size := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c == '"', c == '\\', c == '<', c == '>', c == '&':
			size += 6 // \u1234
		case c >= 0x80:
			size += 2 // The line separators grow from three bytes to six.
		default:
			size++
		}
	}
	return size
}

// maxParties is how many bytes are kept of all names of one side.
const maxParties = 256

// summarize names the two sides of the newest transition for the table of records, whose columns
// show one value and no list.
func (r *Record) summarize() {
	if len(r.Entries) == 0 {
		return
	}
	last := r.Entries[len(r.Entries)-1]
	r.LastFrom, r.LastTo = fit(names(OwnersOf(last.From)), maxParties), fit(names(OwnersOf(last.To)), maxParties)
}

func cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + "…"
}

// fit cuts a text to a number of bytes, at a character boundary, and marks the cut.
func fit(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return cut(text, length-len("…"))
}

// tooMuch reports whether the owners are too many, or their names too long, to be kept.
func tooMuch(owners []managedfields.Owner) bool {
	return len(owners) > maxHolders || slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		return holderOf(o) != Holder{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, APIVersion: o.APIVersion}
	})
}

func holderOf(o managedfields.Owner) Holder {
	return Holder{
		Manager: fit(o.Manager, maxManager), Operation: o.Operation,
		Subresource: fit(o.Subresource, maxSubresource), APIVersion: fit(o.APIVersion, maxAPIVersion),
	}
}

// HoldersOf returns all owners as a record names them, at any length.
func HoldersOf(owners []managedfields.Owner) []Holder {
	out := make([]Holder, len(owners))
	for i, o := range owners {
		out[i] = Holder{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, APIVersion: o.APIVersion}
	}
	return out
}

// holders returns as many as a record keeps, cut to its lengths.
func holders(owners []managedfields.Owner) []Holder {
	owners = owners[:min(len(owners), maxHolders)]
	out := make([]Holder, len(owners))
	for i, o := range owners {
		out[i] = holderOf(o)
	}
	return out
}

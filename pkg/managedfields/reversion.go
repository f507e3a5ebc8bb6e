package managedfields

// Reversion returns entries in which those of the given owners are at another version. One
// that would then be the same owner as another becomes one with it and holds what both held:
// the API server knows an owner but once, and would forget one of the two. All other entries
// stay as they are, in their order.
func Reversion(entries []Entry, owners []Owner, version string) []Entry {
	out := make([]Entry, 0, len(entries))
	moved := make([]bool, 0, len(entries))
	for _, e := range entries {
		moves := false
		for _, o := range owners {
			moves = moves || o.Equal(e.Owner)
		}
		if moves {
			e.APIVersion = version
		}
		if i := placeOf(out, moved, e, moves); i >= 0 {
			out[i].Fields = out[i].Fields.Union(e.Fields)
			if e.Time.After(out[i].Time) {
				out[i].Time = e.Time
			}
			moved[i] = true
			continue
		}
		out, moved = append(out, e), append(moved, moves)
	}
	return out
}

// placeOf returns where an entry is that is the same owner, if one of the two has moved.
func placeOf(entries []Entry, moved []bool, e Entry, moves bool) int {
	for i, other := range entries {
		if (moves || moved[i]) && other.SameEntry(e.Owner) {
			return i
		}
	}
	return -1
}

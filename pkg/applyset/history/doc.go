// Package history keeps what the last runs of a set have stated, so that a set can go back
// to an earlier one.
//
// A run is kept in Secrets beside the parent of the set: compressed, in parts that fit into
// one object each, with a bound on the whole. [Encode] makes them, [Decode] reads them and
// notices a part that is missing or was changed, and [Excess] says which are to go.
//
//	secrets, err := history.Encode(parent, run)
//	runs, faults := history.Decode(secrets)
//
// The values of Secrets outside the parent's namespace are never kept: a user who may
// read Secrets in one namespace may not be allowed to in another. The package reads and
// writes nothing itself.
package history

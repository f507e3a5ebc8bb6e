// Package ownerscmd is owners of many objects: which are meant, how they are read side by side,
// and what becomes of the counts, or of owners at versions that are gone.
package ownerscmd

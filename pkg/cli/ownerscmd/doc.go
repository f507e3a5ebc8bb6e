// Package ownerscmd is the verb owners for many objects: it selects them, reads them in parallel,
// counts their owners, and rewrites owners at API versions that are gone.
package ownerscmd

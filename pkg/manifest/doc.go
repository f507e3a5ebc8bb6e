// Package manifest reads what people wrote: files, folders, URLs, standard
// input and kustomizations become objects, each with the file and line it was
// written at.
//
//	in, err := manifest.Read(ctx, manifest.Options{Filenames: []string{"deploy/"}})
//
// Values are what kubectl makes of the same text (YAML 1.1, whole numbers as
// int64). Every fault of every document is reported, one line each. A single one
// fails the whole reading, so that nothing is sent of a set that is broken, unless
// the caller asks for what is sound with [Options].SkipInvalid.
//
// What a server writes is left out of objects that were copied from one, with a
// warning; see [Warning]. The package does not know kinds, scopes or schemas, and
// two documents for one object are not its concern: package plan settles both.
package manifest

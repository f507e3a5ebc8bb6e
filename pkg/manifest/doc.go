// Package manifest reads manifests: files, folders, URLs, standard input and
// kustomizations become objects, each with the file and line it was written at.
//
//	in, err := manifest.Read(ctx, manifest.Options{Filenames: []string{"deploy/"}})
//
// Values are what kubectl makes of the same text (YAML 1.1, whole numbers as
// int64). Read reports every fault of every document, one line each. A single fault
// fails the whole reading, so that no part of a broken set is sent, unless the
// caller asks for the sound objects with [Options].SkipInvalid.
//
// Fields that only a server writes are left out of objects that were copied from
// one, with a warning; see [Warning]. The package does not know kinds, scopes or
// schemas, and accepts two documents for one object: package plan settles both.
package manifest

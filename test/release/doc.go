// Package release makes what is published for a tag out of the programs that
// `make binaries` built, and inspects it: archives of the plugin with their licences, an
// SBOM of each, checksums, and the manifest for krew.
//
// Which modules a program holds is read from the program itself, so that a notice or an
// SBOM cannot differ from what is linked. Nothing here depends on the time, the user or
// the folder: the same programs give the same files, to the byte.
package release

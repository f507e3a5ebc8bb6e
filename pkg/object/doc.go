// Package object identifies objects ([Ref]), their place in a file ([Manifest], [Source]), and how
// the cluster serves their kind ([Kind]). It reads no files, contacts no server and ignores managed
// fields.
package object

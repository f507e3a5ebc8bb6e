// Package object identifies objects ([Ref]), their place in a file ([Manifest], [Source]), and
// their kinds as the cluster serves them ([Kind]). It reads no files, sends no requests, and does
// not interpret managed fields.
package object

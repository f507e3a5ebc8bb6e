// Package object identifies objects ([Ref]), their place in a file ([Source]), and their kinds
// ([Kind]). It reads no files, sends no requests, and does not interpret managed fields.
package object

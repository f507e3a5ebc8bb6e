// Package object identifies objects ([Ref]), their places in files ([Source]), and their kinds
// ([Kind]). It reads no files, sends no requests, and does not interpret managed fields.
package object

// Package object names things: an object ([Ref]), its place in a file ([Manifest], [Source]), and
// its kind as the cluster serves it ([Kind]). It reads no files, talks to no server and does not
// look at managed fields.
package object

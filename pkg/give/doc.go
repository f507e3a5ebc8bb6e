// Package give changes who owns fields of objects in a cluster, and nothing else of them: no value,
// no generation. [give.Wish] decides the change; this package reads the object, sends the managed
// fields for the version that it read, and starts again if that version is not the current one any
// more.
package give

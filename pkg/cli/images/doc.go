// Package images reports which images the Pods of workloads run, at the end of a verb.
package images

// Package stuckcmd is the verb stuck: why objects that are being deleted stay.
package stuckcmd

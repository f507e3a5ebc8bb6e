// Package history keeps the manifests of the last runs of a set, as compressed Secrets of bounded
// size. [Encode] makes them, [Decode] reads them and detects missing or changed parts, [Excess]
// names those to delete. Values of Secrets outside the parent's namespace are never kept. It sends
// nothing.
package history

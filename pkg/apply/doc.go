// Package apply carries out a plan, phase by phase: it reads live objects, predicts, and writes
// only changes, with server-side apply. Start with [Engine.Run]. A phase with a conflict writes
// nothing, and later phases are only checked. It does not read manifests, order objects or print.
package apply

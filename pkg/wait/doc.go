// Package wait waits until objects meet their conditions, over one watch for each kind and
// namespace. Start with [Engine.Run] and a [Target] for each selection. Events report each object;
// the error says only how the whole went. It does not define conditions, look for causes or print.
package wait

// Package event defines the events that engines emit and printers consume, a sealed set of small
// structs. Never change an event after emitting it, and mask the values of Secrets before.
package event

// Package event defines the events that engines emit and printers consume. The events are a sealed
// set of small structs. Mask the values of Secrets before emitting an event, and never change the
// event afterwards.
package event

// Package event defines the events that engines emit and printers consume, a sealed set of small
// structs. Mask the values of Secrets before emitting an event, and never change it afterwards.
package event

// Package phrase describes in a few words, fit for a terminal, the contents of events: an
// object, a value, an owner, an error with its hints, the causes why something does not
// happen. A table, a report and a progress line say the same because they all use it.
package phrase

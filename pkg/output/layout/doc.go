// Package layout fits texts to a terminal: clean lines, columns that are filled or cut,
// words that are wrapped. It knows nothing of events.
package layout

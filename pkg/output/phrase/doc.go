// Package phrase says in a few words, fit for a terminal, what events speak of: an object,
// a value, an owner, an error with its hints, the causes why something does not happen. A
// table, a report and a line of progress say it alike because they say it from here.
package phrase

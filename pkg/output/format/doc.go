// Package format makes texts: clean lines that fit a terminal, values, owners, errors and causes
// in words, and JSON, YAML and KYAML in which whatever is not printable is escaped. It prints
// nothing, and knows nothing of a run.
package format

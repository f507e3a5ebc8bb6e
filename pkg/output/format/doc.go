// Package format formats texts: printable lines that fit a terminal, values, owners, errors and
// causes in words, and JSON, YAML and KYAML with unprintable characters escaped. It prints nothing,
// and knows nothing of a run.
package format

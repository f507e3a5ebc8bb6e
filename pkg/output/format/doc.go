// Package format formats text for output: printable lines that fit the terminal; values, owners,
// errors and causes; JSON, YAML and KYAML with unprintable characters escaped. It prints nothing
// and knows nothing about the run.
package format

// Package format formats values, owners, errors and causes for output. It makes lines printable and
// fits them to the terminal. It also writes JSON, YAML and KYAML with unprintable characters
// escaped. It prints nothing and knows nothing about the run.
package format

// Package help prints usage, completes words, and suggests similar flags or replacements.
package help

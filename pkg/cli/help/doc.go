// Package help completes the values of flags, and suggests similar words or replacements.
package help

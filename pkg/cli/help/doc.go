// Package help prints usage, completes words, and suggests similar or replacing flags.
package help

// Package deprecation tells what is deprecated.
package deprecation

// Package await holds what the waiting verbs share: what to wait for, the rules for
// readiness, and what to do about objects that hang.
package await

// Package await is what the verbs that wait have in common: what to wait for, the rules by
// which an object is ready, and what becomes of objects that hang.
package await

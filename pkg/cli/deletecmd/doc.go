// Package deletecmd is the verb delete: which objects, with what caution, and how long each
// may take to go.
package deletecmd

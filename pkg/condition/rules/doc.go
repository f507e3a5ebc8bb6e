// Package rules holds what is stated of kinds in CEL: when their objects are ready or have
// failed. It comes from a file of the user, from annotations of definitions, or from the
// table kinds.yaml that is part of the program. Compiling it is the work of condition.
package rules

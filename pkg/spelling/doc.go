// Package spelling finds the word that was probably meant.
//
//	spelling.Nearest("readyReplica", names) // readyReplicas
//
// It knows no words of its own.
package spelling

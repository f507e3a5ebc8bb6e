// Package race is for a write that holds only for the version that was read. Another writer may
// come in between; then the object is read, decided on and written anew, after a pause.
//
// Attempts says when, for how long, and what is said if the others never pause. No loop that meets
// a conflict counts for itself: a controller writes the status of what it works on many times in a
// second, so that attempts without pauses are used up before it is done.
package race

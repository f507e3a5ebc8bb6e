// Package restore takes back the writes of a run: former values and owners return, created objects
// go, and changes of others stay. [Decide] is pure and judges three versions of an object;
// [Engine] sends the result in reverse order. It changes nothing that the run did not.
package restore

// Package diagnosetest provides a cluster in memory for tests of diagnoses.
package diagnosetest

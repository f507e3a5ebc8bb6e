// Package diagnosetest provides an in-memory cluster for tests of explanations.
package diagnosetest

// Package diagnosetest has a cluster in memory, to be diagnosed.
package diagnosetest

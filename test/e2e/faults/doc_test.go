// Package faults_test checks the webhook's promises during failures of everything around it: no
// write is denied or delayed beyond the timeout, and in the end the records and the declared gaps
// describe exactly the takeovers that the writers counted.
//
// The webhook runs as the program, installed by the chart.
package faults_test

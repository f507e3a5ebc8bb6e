// Package faults_test checks the webhook's promises while everything around it fails: no write
// is denied, none is delayed beyond the time-out, and in the end the records, together
// with the declared gaps, say what really happened.
//
// The webhook is the program, installed by the chart. The writers keep the truth.
package faults_test

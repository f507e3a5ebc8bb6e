// Package faults holds the webhook's promises while everything around it fails:
// no write is denied, none is delayed beyond the time-out, and in the end the
// records, with the gaps that are declared, say what really happened.
//
// The webhook is the program, installed by the chart. The truth is kept by those
// who write.
package faults_test

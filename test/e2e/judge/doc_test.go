// Package judge_test checks the webhook's record against what etcd has stored. It takes every
// version of every object out of etcd's own history, flattens managed fields and values
// by itself, and determines which manager took what from which; then it compares
// warnings, records, Events, users and the audit log with that. It shares no code with
// what it judges: neither the reading of field sets nor the text of paths, nor the types
// of records.
//
// The webhook is the program, installed by the chart, at the chart's defaults. Every
// write leaves a stamp in its object, so that the history names its writer even if the
// API server was killed before it could answer. PREVIOUS names the folder of another
// version to judge, with its bin/webhook and bin/helm.
package judge_test

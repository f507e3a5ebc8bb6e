package client

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The server makes the sender of managed fields an owner of each change that the write makes to the
// object. The sender then appears as an additional owner, or with additional fields. An additional
// applier, or a missing owner, does not count.
func TestCredited(t *testing.T) {
	const flux, us = "{manager: flux, operation: Apply, apiVersion: v1, fieldsV1: {f:spec: {f:url: {}}}}", "{manager: us, operation: Update, apiVersion: v1, fieldsV1: {f:spec: {f:size: {}}}}"
	for name, tt := range map[string]struct {
		sent, answer string
		want         bool
	}{
		"nothing":                     {flux + "," + us, flux + "," + us, false},
		"an additional owner":         {flux, flux + "," + us, true},
		"an owner at another version": {flux + "," + us, flux + "," + us + ", {manager: us, operation: Update, apiVersion: v2, fieldsV1: {f:spec: {f:size: {}}}}", true},
		"a subresource":               {flux + "," + us, flux + ", {manager: us, operation: Update, subresource: scale, apiVersion: v1, fieldsV1: {f:spec: {f:size: {}}}}", true},
		"an additional field":         {flux + "," + us, flux + ", {manager: us, operation: Update, apiVersion: v1, fieldsV1: {f:spec: {f:size: {}, f:language: {}}}}", true},
		"another field instead":       {flux + "," + us, flux + ", {manager: us, operation: Update, apiVersion: v1, fieldsV1: {f:spec: {f:language: {}}}}", true},
		"the parent of a field":       {flux + "," + us, flux + ", {manager: us, operation: Update, apiVersion: v1, fieldsV1: {f:spec: {.: {}, f:size: {}}}}", true},
		"a missing owner":             {flux + "," + us, flux, false},
		"an applier":                  {us, us + "," + flux, false},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(entries string) []any {
				var out []any
				if err := yaml.Unmarshal([]byte("["+entries+"]"), &out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			answer := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": read(tt.answer)}}}
			if got := credited(answer, read(tt.sent)); got != tt.want {
				t.Error(got)
			}
		})
	}
}

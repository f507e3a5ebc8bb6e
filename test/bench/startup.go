package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// startup is the cost of the program before it does anything.
type startup struct {
	Bytes int64     // size of the file
	CPU   []float64 // seconds that version --client takes, of each call
	Local []float64 // the same of wait --local for one object
	Help  []float64 // the same of --help
}

// recorded is an object as it stands in a support bundle.
const recorded = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1,
    conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}
`

// startupCalls are enough for a median: one call takes some hundredths of a second.
const startupCalls = 21

// measureStartup looks at the program and calls it.
func measureStartup(ctx context.Context, dir, program string) (*startup, error) {
	file, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	object := filepath.Join(dir, "recorded.yaml")
	if err := os.WriteFile(object, []byte(recorded), 0o600); err != nil {
		return nil, err
	}
	s := &startup{Bytes: file.Size()}
	if s.CPU, err = ownTime(ctx, dir, program, "version", "--client"); err != nil {
		return nil, err
	}
	if s.Help, err = ownTime(ctx, dir, program, "--help"); err != nil {
		return nil, err
	}
	s.Local, err = ownTime(ctx, dir, program, "wait", "--local", "-f", object)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ownTime is how long each of several calls computes.
func ownTime(ctx context.Context, dir, program string, args ...string) ([]float64, error) {
	log := filepath.Join(dir, "startup.log")
	var all []float64
	for range startupCalls {
		took, err := lab.Call(ctx, os.Environ(), log, append([]string{program}, args...)...)
		if err != nil {
			return nil, err
		}
		if took.Exit != 0 {
			return nil, fmt.Errorf("%s %s: status %d: %s", program, strings.Join(args, " "), took.Exit, lab.Tail(log))
		}
		all = append(all, took.CPUSeconds)
	}
	return all, nil
}

// targets are those of the program that make release archives. They are only reported
// here: make release fails if the size is missed.
func (s *startup) targets() []target {
	if s == nil {
		return nil
	}
	return []target{
		{what: "the program's size", measured: float64(s.Bytes) / 1e6, bound: 47, unit: " MB"},
		{what: "version --client, user and system time", measured: medianOf(s.CPU) * 1000, bound: 30, unit: " ms"},
		{what: "--help, user and system time", measured: medianOf(s.Help) * 1000, bound: 30, unit: " ms"},
		{what: "wait --local for one object, user and system time", measured: medianOf(s.Local) * 1000, bound: 50, unit: " ms"},
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// startup is the cost of the program before it does anything.
type startup struct {
	Bytes int64     // size of the file
	CPU   []float64 // seconds that version --client takes, of each call
}

// startupCalls are enough for a median: one call takes some hundredths of a second.
const startupCalls = 21

// measureStartup looks at the program and calls it.
func measureStartup(ctx context.Context, dir, program string) (*startup, error) {
	file, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	s := &startup{Bytes: file.Size()}
	log := filepath.Join(dir, "version.log")
	for range startupCalls {
		took, err := call(ctx, os.Environ(), log, program, "version", "--client")
		if err != nil {
			return nil, err
		}
		if took.Exit != 0 {
			return nil, fmt.Errorf("%s version --client: status %d: %s", program, took.Exit, tail(log))
		}
		s.CPU = append(s.CPU, took.CPUSeconds)
	}
	return s, nil
}

// targets are those of the program that make release archives. They are only reported
// here: make release fails if the size is missed.
func (s *startup) targets() []target {
	if s == nil {
		return nil
	}
	return []target{
		{what: "the program's size", measured: float64(s.Bytes) / 1e6, bound: 45, unit: " MB"},
		{what: "version --client, user and system time", measured: medianOf(s.CPU) * 1000, bound: 30, unit: " ms"},
	}
}

package flock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil || first == nil {
		t.Fatalf("first: %v, %v", first, err)
	}
	if second, err := Try(path); second != nil || err != nil {
		t.Errorf("second while the first has it: %v, %v", second, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(gone, path); !errors.Is(err, context.Canceled) {
		t.Errorf("wait with a context that has ended: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := Wait(t.Context(), path)
	if err != nil || third == nil {
		t.Fatalf("third, when it is free: %v, %v", third, err)
	}
	_ = third.Close()
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	if _, err := Try(filepath.Join(t.TempDir(), "none", "lock")); err == nil {
		t.Error("locked a file in a missing folder")
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Two replicas that start together log no error about each other's writes.
func TestConflictsAreNoErrors(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"conflict":         {apierrors.NewConflict(secrets, "a", errors.New("changed")), "INFO"},
		"wrapped conflict": {fmt.Errorf("write: %w", apierrors.NewConflict(secrets, "a", errors.New("changed"))), "INFO"},
		"already exists":   {apierrors.NewAlreadyExists(secrets, "a"), "INFO"},
		"forbidden":        {apierrors.NewForbidden(secrets, "a", errors.New("no")), "ERROR"},
		"another error":    {errors.New("the object has been modified"), "ERROR"},
	} {
		var out bytes.Buffer
		log := logr.FromSlogHandler(conflictsAsInfo{slog.NewJSONHandler(&out, nil)}).WithName("cert-rotation").WithValues("a", 1)
		log.Error(tt.err, "could not refresh CA and server certs")
		if !strings.Contains(out.String(), `"level":"`+tt.want+`"`) {
			t.Errorf("%s: want the level %s: %s", name, tt.want, out.String())
		}
		out.Reset()
		quiet := logr.FromSlogHandler(conflictsAsInfo{slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})})
		if quiet.Error(tt.err, "x"); (out.Len() > 0) != (tt.want == "ERROR") {
			t.Errorf("%s: at the level warn: %q", name, out.String())
		}
	}
}

//go:build keepdeps

// Package deps keeps the chosen versions in go.mod while the packages that use
// them are being written; it goes when they are there.
package deps

import (
	_ "github.com/aymanbagabas/go-udiff"
	_ "github.com/cheggaaa/pb/v3"
	_ "github.com/fatih/color"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/mattn/go-shellwords"
	_ "github.com/oklog/ulid/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/pflag"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/api/errors"
	_ "k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/cli-runtime/pkg/printers"
	_ "k8s.io/cli-runtime/pkg/resource"
	_ "k8s.io/client-go/discovery/cached/disk"
	_ "k8s.io/client-go/dynamic"
	_ "k8s.io/component-base/version"
	_ "k8s.io/kubectl/pkg/util/completion"
	_ "sigs.k8s.io/json"
	_ "sigs.k8s.io/kustomize/api/krusty"
	_ "sigs.k8s.io/kustomize/kyaml/filesys"
	_ "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	_ "sigs.k8s.io/yaml"
)

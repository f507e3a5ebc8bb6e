package deprecated

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/input"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation/usage"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const definitionKind = "CustomResourceDefinition"

type search struct {
	*options
	in       verb.Invocation
	question *usage.Question
	tally    *usage.Tally
	stored   []event.StoredVersions
	unread   []event.Unread
	// namespace is the namespace to search; empty means all. own is the namespace for manifests
	// that have none.
	namespace, own string
	namespaced     map[schema.GroupKind]bool
}

func (s *search) search(ctx context.Context) error {
	server, err := s.in.Connect(ctx, s.run, 0, s.out.Print)
	if err != nil {
		return err
	}
	if err := s.releases(ctx, server); err != nil {
		return err
	}
	if s.own, _, err = s.in.Namespace(); err != nil {
		return err
	}
	if !s.everywhere {
		s.namespace = s.own
	}
	if s.namespace != "" && (s.live || s.helm) {
		if missing := target.MissingNamespace(ctx, server, s.namespace); missing != "" {
			s.out.Print(event.Warned{Text: missing})
		}
	}
	if s.question.Served, err = server.Serves(ctx); err != nil {
		return err
	}
	kinds, err := server.Listable(ctx)
	if err != nil {
		return err
	}
	s.namespaced = map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		s.namespaced[kind.GVK.GroupKind()] = kind.Namespaced
	}
	// The versions of custom resources are known only from their definitions, also those in files.
	reader := server.NoRetry()
	s.definitions(ctx, reader)
	if s.live {
		s.objects(ctx, reader, kinds)
	}
	if s.helm {
		s.helmReleases(ctx, reader)
	}
	return nil
}

func (s *search) releases(ctx context.Context, server *client.Client) error {
	info, err := server.Version(ctx)
	if err != nil {
		return err
	}
	if s.question.Server, err = deprecation.Server(*info); err != nil {
		return err
	}
	if s.release.IsZero() {
		s.question.Release = s.question.Server.Next()
	}
	if s.question.Release.Compare(s.question.Server) <= 0 {
		s.out.Print(event.Warned{Text: "the server is already at " + s.question.Server.String() + ": to look ahead, set --release to a later release, or omit the flag"})
	}
	return known(s.question.Release)
}

// definitions finds out which versions of custom resources are deprecated or may still be stored.
func (s *search) definitions(ctx context.Context, reader *client.NoRetry) {
	gvk := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: definitionKind}
	stored := map[string]event.StoredVersions{}
	s.missed(object.Ref{GVK: gvk}, reader.SelectLarge(ctx, gvk, object.Selection{}, "", func(u *unstructured.Unstructured) {
		d := deprecation.ParseDefinition(u)
		s.question.Custom.Set(d)
		if one, any := s.question.Stored(d); any && s.everywhere {
			stored[d.Name] = one
		}
	}))
	for _, one := range stored {
		s.stored = append(s.stored, one)
	}
}

func (s *search) objects(ctx context.Context, reader *client.NoRetry, kinds []object.Kind) {
	var concerned []object.Kind
	for _, kind := range kinds {
		if s.question.Concerns(kind) {
			concerned = append(concerned, kind)
		}
	}
	unread := survey.EachKind(ctx, reader, concerned, object.Selection{Namespace: s.namespace, Labels: s.labels},
		func() *usage.Tally { return usage.New(s.question) },
		func(t *usage.Tally, o client.ObjectFields) { t.Live(o.Ref, o.Fields, o.LastApplied) }, s.tally.Merge)
	s.unread = append(s.unread, unread...)
}

// helmReleases reads the manifest from which the next upgrade of each release starts. If no revision
// of a release succeeded, that is the failed one.
func (s *search) helmReleases(ctx context.Context, reader *client.NoRetry) {
	current := object.Selection{Namespace: s.namespace, Labels: "owner=helm,status notin (superseded,uninstalled)"}
	stored := inventory.Stored{}
	for _, place := range helmrelease.Places() {
		s.missed(object.Ref{GVK: place.Kind, Namespace: s.namespace}, reader.SelectLarge(ctx, place.Kind, current, place.Fields, stored.Add))
	}
	for _, revisions := range stored {
		base := revisions.Base()
		s.missed(object.RefOf(base), s.helmRelease(ctx, base))
	}
}

func (s *search) helmRelease(ctx context.Context, stored *unstructured.Unstructured) error {
	release, err := inventory.Decode(stored)
	if errors.Is(err, inventory.ErrNoManifest) {
		return nil
	}
	if err != nil {
		return err
	}
	read, err := manifest.Read(ctx, manifest.Options{
		Filenames: []string{"-"}, In: strings.NewReader(release.Manifest), InName: release.Source, Secrets: s.in.Vault, Hooks: manifest.HooksApply, Selector: s.labels, Empty: true, Unnamed: true, Lenient: true,
	})
	for _, m := range read.Objects {
		s.tally.Rendered(s.ref(m, release.Namespace), m.Object, event.HelmRevision{Namespace: release.Namespace, Name: release.Name, Revision: release.Version})
	}
	return err
}

// manifests reads the files and reports whether all could be read. CRDs in the files apply to the
// other manifests.
func (s *search) manifests(ctx context.Context) (whole bool) {
	read, err := manifest.Read(ctx, *s.files)
	input.SayLeftOut(read, s.in.Streams)
	faults := read.Invalid
	if err != nil {
		faults = append(faults, verb.Flatten(err)...)
	}
	for _, fault := range faults {
		s.out.Print(event.LeftOut{Err: fault})
	}
	for _, m := range read.Objects {
		if m.Object.GetKind() == definitionKind {
			d := deprecation.ParseDefinition(m.Object)
			d.Kind.Kind, _, _ = unstructured.NestedString(m.Object.Object, "spec", "names", "kind")
			s.question.Custom.Set(d)
		}
	}
	files := usage.New(s.question) // s.tally may have checked versions before these CRDs were added.
	for _, m := range read.Objects {
		files.Manifest(s.ref(m, s.own), m, manifest.Locate)
	}
	s.tally.Merge(files)
	return faults == nil
}

// ref returns a reference with the namespace in which the object would be created.
func (s *search) ref(m object.Manifest, namespace string) object.Ref {
	ref := m.Ref()
	ref.Name = cmp.Or(ref.Name, m.Object.GetGenerateName())
	if ref.Namespace == "" && s.namespaced[ref.GVK.GroupKind()] {
		ref.Namespace = namespace
	}
	return ref
}

func (s *search) missed(ref object.Ref, err error) {
	if err != nil {
		s.unread = append(s.unread, event.Unread{Ref: ref, Err: err})
	}
}

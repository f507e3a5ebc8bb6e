package discovery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// renewAfter is how long a list of all kinds proves that the server does not serve a kind. An older
// list that lacks the kind is read again.
const renewAfter = time.Second

// search calls find with everything that the server serves. If an old cache lacks the type, search
// calls find again with what the server serves now.
func (d *Discovery) search(ctx context.Context, text string, find func(catalogue) error) error {
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var t catalogue
	for renewed := time.Since(d.known.read) < renewAfter; ; renewed = true {
		if t, err = d.catalogue(ctx); err != nil {
			return err
		}
		err = find(t)
		if !meta.IsNoMatchError(err) || renewed {
			break
		}
		d.cache.distrust()
		d.known.read = time.Now()
	}
	if meta.IsNoMatchError(err) {
		return &NoTypeError{Type: text, Near: t.near(text), Err: cmp.Or(t.otherVersion(text), t.unknown)}
	}
	return err
}

// renew discards a list of everything that was stored before this run, or is too old to prove that the
// server does not serve a kind.
func (d *Discovery) renew(ctx context.Context) error {
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if time.Since(d.known.read) > renewAfter {
		d.cache.distrust()
		d.known.read = time.Now()
	}
	return nil
}

func (d *Discovery) refresh(ctx context.Context) error {
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if time.Since(d.known.read) > refreshAfter {
		d.cache.distrust()
		d.known.read = time.Now()
	}
	return nil
}

// refreshAfter is the age up to which a list of all kinds from this run is trusted.
const refreshAfter = time.Minute

type catalogue struct {
	view   view
	mapper meta.RESTMapperWithContext
	groups []*restmapper.APIGroupResources
	// unknown is the error about groups whose kinds are unknown because their servers do not answer
	// (edge case 21).
	unknown error
}

// silentError names the group versions whose kinds are unknown.
type silentError struct {
	versions []schema.GroupVersion
}

func (e *silentError) Error() string {
	names := make([]string, len(e.versions))
	for i, gv := range e.versions {
		names[i] = gv.String()
	}
	return fmt.Sprintf("the kinds in %s are unknown, because their server did not answer", strings.Join(sortedOnce(names), ", "))
}

func (e *silentError) has(group string) bool {
	return slices.ContainsFunc(e.versions, func(gv schema.GroupVersion) bool { return gv.Group == group })
}

func (d *Discovery) catalogue(ctx context.Context) (catalogue, error) {
	now := d.cache.everything()
	if now == nil {
		var err error
		if now, err = d.everything(ctx); err != nil {
			return catalogue{}, err
		}
	}
	t := catalogue{view: view{served: now}}
	var err error
	if t.groups, err = restmapper.GetAPIGroupResourcesWithContext(ctx, t.view); err != nil {
		return t, err
	}
	t.mapper = restmapper.NewShortcutExpanderWithContext(
		restmapper.NewDiscoveryRESTMapperWithContext(t.groups), t.view, func(string) {})
	if len(now.failed) > 0 {
		t.unknown = &silentError{slices.Collect(maps.Keys(now.failed))}
	}
	return t, nil
}

// kindOf returns the kind for a TYPE, which may be a resource in one of its three forms, a short
// name, or a kind.
func (t catalogue) kindOf(ctx context.Context, text string) (schema.GroupVersionKind, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(text))
	if full != nil {
		if gvk, err := t.mapper.KindForWithContext(ctx, *full); err == nil {
			return gvk, nil
		}
	}
	gvk, err := t.mapper.KindForWithContext(ctx, resource.WithVersion(""))
	if err == nil {
		return gvk, nil
	}
	fullKind, kind := schema.ParseKindArg(text)
	if fullKind != nil {
		if mapping, err := t.mapper.RESTMappingWithContext(ctx, fullKind.GroupKind(), fullKind.Version); err == nil {
			return t.mapper.KindForWithContext(ctx, mapping.Resource) // The kind in the mapping is spelled as the user typed it.
		}
	}
	if mapping, kindErr := t.mapper.RESTMappingWithContext(ctx, kind); kindErr == nil {
		return t.mapper.KindForWithContext(ctx, mapping.Resource)
	}
	return schema.GroupVersionKind{}, err
}

func (t catalogue) kinds(gvks []schema.GroupVersionKind, err error) ([]object.Kind, error) {
	kinds := make([]object.Kind, len(gvks))
	for i, gvk := range gvks {
		kinds[i].GVK = gvk
		if list := t.view.lists[gvk.GroupVersion()]; list != nil && err == nil {
			if kind, missing := find(list, gvk); missing == nil {
				kinds[i] = kind
			}
		}
	}
	return kinds, err
}

func (t catalogue) names(name func(schema.GroupResource, metav1.APIResource) []string) []string {
	var names []string
	for _, group := range t.groups {
		for _, r := range group.VersionedResources[group.Group.PreferredVersion.Version] {
			if strings.Contains(r.Name, "/") {
				continue
			}
			names = append(names, name(schema.GroupResource{Group: group.Group.Name, Resource: r.Name}, r)...)
		}
	}
	return sortedOnce(names)
}

// otherVersion returns an error with the version at which the server serves a TYPE that has another version;
// nil if there is none. The objects exist, although the server does not serve the type.
func (t catalogue) otherVersion(text string) error {
	name, rest, _ := strings.Cut(text, ".")
	version, group, _ := strings.Cut(rest, ".")
	if !versions.MatchString(version) {
		return nil
	}
	for _, g := range t.groups {
		if g.Group.Name != group {
			continue
		}
		for _, v := range g.Group.Versions {
			for _, r := range g.VersionedResources[v.Version] {
				if strings.EqualFold(name, r.Kind) || strings.EqualFold(name, r.Name) || strings.EqualFold(name, r.SingularName) {
					return servedAt(schema.GroupVersion{Group: group, Version: v.Version})
				}
			}
		}
	}
	return nil
}

func servedAt(gv schema.GroupVersion) error {
	return object.Hinted("its objects still exist at that version", "it serves this kind in %s", gv)
}

func (t catalogue) near(typed string) []string {
	return t.names(func(gr schema.GroupResource, r metav1.APIResource) []string {
		if isNear(typed, gr, r) {
			return []string{gr.String()}
		}
		return nil
	})
}

// Listable returns the kinds that the server serves now and that can be listed. It does not use an
// older cache, because an older cache may lack a new CRD.
func (d *Discovery) Listable(ctx context.Context) ([]object.Kind, error) {
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	var kinds []object.Kind
	err := d.search(ctx, "", func(t catalogue) error {
		kinds = t.listable()
		return nil
	})
	return kinds, err
}

// Unanswered returns the group versions whose kinds are unknown because their servers do not
// answer. Listable omits those kinds.
func (d *Discovery) Unanswered(ctx context.Context) ([]schema.GroupVersion, error) {
	var all []schema.GroupVersion
	err := d.search(ctx, "", func(t catalogue) error {
		all = slices.SortedFunc(maps.Keys(t.view.failed), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
		return nil
	})
	return all, err
}

func (t catalogue) listable() []object.Kind {
	var kinds []object.Kind
	for _, group := range t.groups {
		versions := []string{group.Group.PreferredVersion.Version}
		for _, v := range group.Group.Versions {
			versions = append(versions, v.Version)
		}
		seen := map[string]bool{}
		for _, version := range versions {
			for _, r := range group.VersionedResources[version] {
				if seen[r.Name] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
					continue
				}
				seen[r.Name] = true
				gvk := schema.GroupVersionKind{Group: group.Group.Name, Version: version, Kind: r.Kind}
				kinds = append(kinds, object.Kind{GVK: gvk, Resource: r.Name, Namespaced: r.Namespaced, Verbs: r.Verbs})
			}
		}
	}
	return kinds
}

// Serves returns a function that reports whether the server serves a kind now. The function also
// returns true if the server behind the kind's version does not answer.
func (d *Discovery) Serves(ctx context.Context) (func(schema.GroupVersionKind) bool, error) {
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	served := map[schema.GroupVersionKind]bool{}
	unknown := map[schema.GroupVersion]bool{}
	err := d.search(ctx, "", func(t catalogue) error {
		for _, group := range t.groups {
			for _, v := range group.Group.Versions {
				gv := schema.GroupVersion{Group: group.Group.Name, Version: v.Version}
				unknown[gv] = len(group.VersionedResources[v.Version]) == 0
				for _, r := range group.VersionedResources[v.Version] {
					served[gv.WithKind(r.Kind)] = true
				}
			}
		}
		return nil
	})
	return func(gvk schema.GroupVersionKind) bool { return served[gvk] || unknown[gvk.GroupVersion()] }, err
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

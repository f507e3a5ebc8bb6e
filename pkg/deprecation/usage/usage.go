// Package usage finds uses of deprecated API versions and fields before an upgrade: by managers of
// live objects, in manifests, and in Helm releases. It reads nothing itself. Start with a
// [Question] and a [Tally].
package usage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Question is the upgrade that a [Tally] checks.
type Question struct {
	// Server is the server's current release; zero if there is no server. Release is the release to
	// upgrade to.
	Server, Release deprecation.Release
	Custom          deprecation.Custom
	// Served reports whether the server serves a version. Only Tally.Live and Concerns need it.
	Served func(schema.GroupVersionKind) bool
}

func (q *Question) check(gvk schema.GroupVersionKind) (n deprecation.Notice, goes, ok bool) {
	if n, goes, ok = deprecation.CheckUpgrade(gvk, q.Server, q.Release); ok {
		return n, goes, ok
	}
	n, ok = q.Custom.Lookup(gvk)
	return n, false, ok
}

// Concerns reports whether live objects of a kind must be checked: the server serves it at a
// version that the release removes, or that its CRD deprecates.
func (q *Question) Concerns(kind object.Kind) bool {
	gk := kind.GVK.GroupKind()
	for _, gvk := range deprecation.Versions(gk) {
		if _, goes, _ := q.check(gvk); goes && q.Served(gvk) {
			return true
		}
	}
	return slices.ContainsFunc(q.Custom.Resources(), func(r schema.GroupVersionResource) bool {
		return r.Group == gk.Group && r.Resource == kind.Resource
	})
}

// Tally collects uses. It is not safe for concurrent use: give each goroutine its own, and merge
// them afterwards.
type Tally struct {
	question *Question
	uses     map[use]*event.DeprecatedUse
	left     int
	verdicts map[schema.GroupVersionKind]verdict
}

type use struct {
	ref  object.Ref
	path string
}

type verdict struct {
	event.DeprecatedUse
	deprecated bool
	// counts is set if managers must stop writing the version. Most versions that are deprecated
	// but not removed, such as v1 of Endpoints, are written by Kubernetes itself.
	counts, served bool
}

// New returns an empty tally.
func New(q *Question) *Tally {
	return &Tally{question: q, uses: map[use]*event.DeprecatedUse{}, verdicts: map[schema.GroupVersionKind]verdict{}}
}

func (t *Tally) verdict(gvk schema.GroupVersionKind) verdict {
	v, known := t.verdicts[gvk]
	if known {
		return v
	}
	if n, goes, ok := t.question.check(gvk); ok {
		_, builtIn := deprecation.Builtin(gvk)
		v = verdict{deprecated: true, counts: goes || !builtIn, served: t.question.Served == nil || t.question.Served(gvk)}
		v.DeprecatedUse = event.DeprecatedUse{
			Text: n.String(), Goes: goes, Since: n.Since.String(), Removed: n.Removed.String(), Use: n.Use,
		}
	}
	t.verdicts[gvk] = v
	return v
}

// Live checks a live object. An applier has one entry, at the version of its last apply. An updater
// has one entry for each version. Its newest entry shows how the updater writes now. Each older
// entry stays until other managers own its fields. kubectl's annotation shows the version of the
// last kubectl apply. The annotation decides if two entries have the same time, or if the managed
// fields were cleared.
func (t *Tally) Live(ref object.Ref, entries []metav1.ManagedFieldsEntry, lastApplied string) {
	applied := kindOf(lastApplied)
	version := applied.GroupVersion().String()
	byApply := len(entries) == 0
	for i := range entries {
		e := &entries[i]
		gvk := schema.FromAPIVersionAndKind(e.APIVersion, ref.GVK.Kind)
		v := t.verdict(gvk)
		switch {
		case !v.counts:
		// A version that is not served cannot be written, and before-first-apply is not a real
		// manager.
		case !v.served, e.Manager == managedfields.BeforeFirstApply, movedOn(e, entries, version):
			t.left++
		default:
			t.writes(ref, gvk, e)
		}
		byApply = byApply || e.Manager == managedfields.ClientSideApply && ownsLastApplied(e) && e.APIVersion != version
	}
	has := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == managedfields.ClientSideApply && e.APIVersion == version
	}
	if v := t.verdict(applied); byApply && v.counts && v.served && !slices.ContainsFunc(entries, has) {
		t.writes(ref, applied, &metav1.ManagedFieldsEntry{Manager: managedfields.ClientSideApply, Operation: metav1.ManagedFieldsOperationUpdate})
	}
}

// movedOn reports whether the manager of an entry now writes another version in the same way: by
// update, by apply, or through a subresource.
func movedOn(e *metav1.ManagedFieldsEntry, entries []metav1.ManagedFieldsEntry, applied string) bool {
	return slices.ContainsFunc(entries, func(o metav1.ManagedFieldsEntry) bool {
		if o.Manager != e.Manager || o.Operation != e.Operation || o.Subresource != e.Subresource || o.APIVersion == e.APIVersion {
			return false
		}
		order := timeOf(e).Compare(timeOf(&o))
		return order < 0 || order == 0 && o.APIVersion == applied && ownsLastApplied(&o)
	})
}

func (t *Tally) writes(ref object.Ref, gvk schema.GroupVersionKind, e *metav1.ManagedFieldsEntry) {
	ref.GVK = gvk
	found := t.version(ref)
	found.Writers = append(found.Writers, managedfields.Owner{
		Manager: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource, APIVersion: gvk.GroupVersion().String(), Time: timeOf(e),
	})
}

func timeOf(e *metav1.ManagedFieldsEntry) time.Time {
	if e.Time == nil {
		return time.Time{}
	}
	return e.Time.UTC()
}

func ownsLastApplied(e *metav1.ManagedFieldsEntry) bool {
	return e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:`+managedfields.LastAppliedAnnotation+`"`))
}

func kindOf(text string) schema.GroupVersionKind {
	var o metav1.TypeMeta
	if json.Unmarshal([]byte(text), &o) != nil {
		return schema.GroupVersionKind{}
	}
	return o.GroupVersionKind()
}

func (t *Tally) version(ref object.Ref) *event.DeprecatedUse {
	found := t.verdict(ref.GVK).DeprecatedUse
	found.Ref = ref
	return t.use(use{ref: ref}, found)
}

func (t *Tally) use(key use, found event.DeprecatedUse) *event.DeprecatedUse {
	if t.uses[key] == nil {
		t.uses[key] = &found
	}
	return t.uses[key]
}

// Manifest checks an object from a file. locate finds a field in the file.
func (t *Tally) Manifest(ref object.Ref, m object.Manifest, locate func(object.Source, []any) (object.Source, string)) {
	t.manifest(ref, m.Object, func(found *event.DeprecatedUse, steps []any) {
		source, _ := locate(m.Source, steps)
		found.Sources = append(found.Sources, source)
	})
}

// Rendered checks an object in the manifest of a Helm release.
func (t *Tally) Rendered(ref object.Ref, u *unstructured.Unstructured, of event.HelmRevision) {
	t.manifest(ref, u, func(found *event.DeprecatedUse, _ []any) { found.Releases = append(found.Releases, of) })
}

// manifest checks an object. place records where it is written.
func (t *Tally) manifest(ref object.Ref, u *unstructured.Unstructured, place func(*event.DeprecatedUse, []any)) {
	if t.verdict(ref.GVK).deprecated {
		place(t.version(ref), []any{"apiVersion"})
	}
	for _, n := range deprecation.Fields(u, t.question.Release) {
		place(t.use(use{ref, n.Path + n.Value}, event.DeprecatedUse{
			Ref: ref, Path: n.Path, Text: n.String(), Goes: n.Goes(), Since: n.Since.String(), Removed: n.Gone.String(),
		}), n.Steps())
	}
}

// Merge adds the uses of another tally of the same question.
func (t *Tally) Merge(other *Tally) {
	t.left += other.left
	for key, found := range other.uses {
		own, known := t.uses[key]
		if !known {
			t.uses[key] = found
			continue
		}
		own.Writers = append(own.Writers, found.Writers...)
		own.Sources = append(own.Sources, found.Sources...)
		own.Releases = append(own.Releases, found.Releases...)
	}
}

// Result returns the uses found so far, sorted.
func (t *Tally) Result() event.Deprecations {
	out := event.Deprecations{Release: t.question.Release.String(), Server: t.question.Server.String(), Left: t.left}
	for _, found := range t.uses {
		slices.SortFunc(found.Writers, managedfields.Owner.Compare)
		out.Uses = append(out.Uses, *found)
	}
	if t.left > 0 {
		out.Hint = "old entries do not block the upgrade, but after it they can block applies of custom resources; then rewrite them with: " +
			command.Kubectl("k8sconnect", "owners") + " -A --migrate-versions"
	}
	slices.SortFunc(out.Uses, func(a, b event.DeprecatedUse) int {
		switch {
		case a.Goes != b.Goes && a.Goes:
			return -1
		case a.Goes != b.Goes:
			return 1
		}
		return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	return out
}

// Stored returns the versions that a CRD cannot omit yet, and the commands to change that, in their
// order; false if there are none.
func (q *Question) Stored(d deprecation.Definition) (event.StoredVersions, bool) {
	old, now := d.Stored()
	next := []string{
		"rewrite them: " + command.Kubectl("get") + " " + d.Name + " -A -o json | " + command.Kubectl("replace") + " -f -",
		"then: " + command.Kubectl("patch") + " crd " + d.Name + ` --subresource=status --type=merge -p '{"status":{"storedVersions":["` + now + `"]}}'`,
	}
	if version := q.migrations(); version != "" {
		resource, group, _ := strings.Cut(d.Name, ".")
		name := d.Name + "-" + now // A later migration, to another version, has another name.
		next = []string{
			`rewrite them: echo '{"apiVersion":"` + version + `","kind":"StorageVersionMigration","metadata":{"name":"` + name +
				`"},"spec":{"resource":{"group":"` + group + `","resource":"` + resource + `"}}}' | ` + command.Kubectl("create") + " -f -",
			"then: " + command.Kubectl("wait") + " storageversionmigration/" + name + " --for=condition=Succeeded --timeout=10m",
		}
	}
	return event.StoredVersions{
		Definition: d.Name, Versions: old, Storage: now,
		Why:  "objects may still be stored at " + strings.Join(old, ", ") + ", so the API server refuses a CRD that drops such a version",
		Next: append(next, "right after the upgrade: "+command.Kubectl("k8sconnect", "owners")+" "+d.Name+" -A --migrate-versions"),
	}, old != nil
}

// migrations returns the version at which the server serves StorageVersionMigrations, or "". The
// control plane then rewrites the objects, and updates the CRD's status (KEP-4192).
func (q *Question) migrations() string {
	for _, version := range []string{"v1", "v1beta1"} { // v1alpha1 has another format.
		gvk := schema.GroupVersionKind{Group: "storagemigration.k8s.io", Version: version, Kind: "StorageVersionMigration"}
		if q.Served != nil && q.Served(gvk) {
			return gvk.GroupVersion().String()
		}
	}
	return ""
}

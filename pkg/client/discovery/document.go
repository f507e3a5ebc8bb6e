package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// document is the OpenAPI document of a group version. It decodes a schema on first use. Schemas
// are shared and must not be changed. It is safe for concurrent use.
type document struct {
	texts map[string][]byte
	named func(name string) decoded
}

type decoded struct {
	schema *spec.Schema
	err    error
}

// cut splits a document into its schemas. The schemas are slices of text, so the caller must not
// change text.
func cut(text []byte) (*document, error) {
	out := &document{texts: map[string][]byte{}}
	out.named = once(out.decode)
	if len(text) == 0 {
		return out, nil
	}
	from := transport.Decoder(text)
	return out, transport.Members(from, func(name string) error {
		if name != "components" {
			return skip(from)
		}
		return transport.Members(from, func(name string) error {
			if name != "schemas" {
				return skip(from)
			}
			return transport.Members(from, func(name string) error {
				one, err := from.ReadValue()
				end := int(from.InputOffset())
				out.texts[name] = text[end-len(one) : end]
				return err
			})
		})
	})
}

// skip uses ReadValue because it is faster than SkipValue.
func skip(from *jsontext.Decoder) error {
	_, err := from.ReadValue()
	return err
}

func (d *document) decode(name string) decoded {
	text, ok := d.texts[name]
	if !ok {
		return decoded{err: fmt.Errorf("it refers to %s, which does not exist", name)}
	}
	var out spec.Schema
	// json.Unmarshal would read the text twice more, just to find its end.
	if err := out.UnmarshalJSON(text); err != nil {
		return decoded{err: fmt.Errorf("%s: %w", name, err)}
	}
	out.ID = name
	return decoded{schema: &out}
}

func (d *document) schema(gvk schema.GroupVersionKind) (found *spec.Schema, err error) {
	const mark = "x-kubernetes-group-version-kind"
	quoted := []byte(`"` + gvk.Kind + `"`)
	for name, text := range d.texts {
		if !bytes.Contains(text, quoted) || !bytes.Contains(text, []byte(mark)) {
			continue
		}
		one := d.named(name)
		if one.err != nil {
			err = one.err // It may be the schema of another kind.
			continue
		}
		var kinds []schema.GroupVersionKind
		if one.schema.Extensions.GetObject(mark, &kinds) == nil && slices.Contains(kinds, gvk) {
			return one.schema, nil
		}
	}
	return nil, err
}

// follow resolves the reference of a schema. It returns the referenced schema with the keywords
// next to the reference, or the schema itself if it has no reference. A circular reference becomes
// an object without properties. followed lists the references followed so far.
func (d *document) follow(in *spec.Schema, followed ...string) (*spec.Schema, error) {
	name, ok := refOf(in)
	if !ok {
		return in, nil
	}
	if slices.Contains(followed, name) {
		return beside(in, anObject()), nil
	}
	next := d.named(name)
	if next.err != nil {
		return nil, next.err
	}
	referred, err := d.follow(next.schema, append(followed, name)...)
	if err != nil {
		return nil, err
	}
	return beside(in, referred), nil
}

func (d *document) known(in *spec.Schema) *spec.Schema {
	out, err := d.follow(in)
	if err != nil {
		return &spec.Schema{}
	}
	return out
}

// resolved follows all references in a schema. A circular reference becomes an object without
// properties. above holds the names of the schemas that contain this one.
func (d *document) resolved(in *spec.Schema, above sets.Set[string]) (*spec.Schema, error) {
	referred, err := d.follow(in)
	if err != nil {
		return nil, err
	}
	if name := referred.ID; name != "" {
		if above.Has(name) {
			return beside(in, anObject()), nil
		}
		above.Insert(name)
		defer above.Delete(name)
	}
	out := *referred
	out.Properties = maps.Clone(out.Properties)
	for name, prop := range out.Properties {
		of, err := d.resolved(&prop, above)
		if err != nil {
			return nil, err
		}
		out.Properties[name] = *of
	}
	if values := out.AdditionalProperties; values != nil && values.Schema != nil {
		of, err := d.resolved(values.Schema, above)
		if err != nil {
			return nil, err
		}
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: values.Allows, Schema: of}
	}
	if items := out.Items; items != nil && items.Schema != nil {
		of, err := d.resolved(items.Schema, above)
		if err != nil {
			return nil, err
		}
		out.Items = &spec.SchemaOrArray{Schema: of, Schemas: items.Schemas}
	}
	return &out, nil
}

func anObject() *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
}

// beside returns the referenced schema with the keywords next to the reference. These keywords can
// differ between uses of a schema: the type of selectors is atomic, but one field makes its
// selector granular.
func beside(use, referred *spec.Schema) *spec.Schema {
	if len(use.Extensions) == 0 && use.Default == nil {
		return referred
	}
	out := *referred
	out.Extensions = maps.Clone(out.Extensions) // shared with other uses
	for key, value := range use.Extensions {
		out.AddExtension(key, value)
	}
	if use.Default != nil {
		out.Default = use.Default
	}
	return &out
}

// refOf returns the name in a schema's reference. If a reference has a description, Kubernetes
// wraps the reference in allOf. It uses allOf for nothing else (k/k#106387).
func refOf(in *spec.Schema) (name string, ok bool) {
	if in.Ref.GetURL() != nil {
		return strings.TrimPrefix(in.Ref.String(), "#/components/schemas/"), true
	}
	for _, all := range in.AllOf {
		if name, ok := refOf(&all); ok {
			return name, true
		}
	}
	return "", false
}

// everything requests all kinds that the server serves, and stores the response in the cache. It
// requests the core and the groups concurrently.
func (d *Discovery) everything(ctx context.Context) (*served, error) {
	var core, groups served
	all, within := errgroup.WithContext(ctx)
	for path, part := range map[string]*served{"/api": &core, "/apis": &groups} {
		all.Go(func() error {
			return d.requests.Do(within, transport.Request{Bulk: true, Patience: forGroups}, func(ctx context.Context) (err error) {
				*part, err = d.readPart(ctx, path)
				return err
			})
		})
	}
	if err := all.Wait(); err != nil {
		return nil, ofServer(err)
	}
	message := join(core, groups)
	if !message.whole {
		d.listEach(ctx, &message)
	}
	d.cache.answer(&message)
	return &message, nil
}

func (d *Discovery) readPart(ctx context.Context, path string) (served, error) {
	var contentType string
	result := d.cache.live.RESTClient().Get().AbsPath(path).
		SetHeader("Accept", discovery.AcceptV2+","+discovery.AcceptV1).Do(quietly(ctx)).ContentType(&contentType)
	body, err := result.Raw()
	if err != nil {
		err = result.Error() // Error decodes the server's message. Raw does not.
	}
	switch {
	case path == "/api" && apierrors.IsNotFound(err): // Not every server has the core API.
		return served{groups: &metav1.APIGroupList{}, whole: true}, nil
	case apierrors.IsNotFound(err): // Every server has groups, so another program answered.
		return served{}, transport.Wrong("/apis was not found")
	case err != nil:
		return served{}, err
	}
	if aggregated, _ := discovery.ContentTypeIsGVK(contentType, apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")); aggregated {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(body, &list); err != nil {
			return served{}, err
		}
		groups, lists, failed := discovery.SplitGroupsAndResources(list)
		return served{groups: groups, lists: lists, failed: failed, whole: true}, nil
	}
	if path == "/api" {
		var versions metav1.APIVersions
		err := json.Unmarshal(body, &versions)
		return served{groups: coreGroup(versions)}, err
	}
	var groups metav1.APIGroupList
	err = json.Unmarshal(body, &groups)
	return served{groups: &groups}, err
}

func coreGroup(versions metav1.APIVersions) *metav1.APIGroupList {
	var group metav1.APIGroup
	for _, v := range versions.Versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: v, Version: v})
	}
	if len(group.Versions) > 0 {
		group.PreferredVersion = group.Versions[0]
	}
	return &metav1.APIGroupList{Groups: []metav1.APIGroup{group}}
}

// join combines the responses for the core and for the groups, with the core first. It uses the
// lists of kinds only if both responses have them.
func join(core, groups served) served {
	all := served{
		groups: &metav1.APIGroupList{Groups: append(core.groups.Groups, groups.groups.Groups...)},
		lists:  map[schema.GroupVersion]*metav1.APIResourceList{},
		failed: map[schema.GroupVersion]error{},
		whole:  core.whole && groups.whole,
	}
	for _, part := range []served{core, groups} {
		if all.whole {
			maps.Copy(all.lists, part.lists)
		}
		maps.Copy(all.failed, part.failed)
	}
	return all
}

// listEach requests the kinds of each group version, for a server without aggregated discovery. If
// a group version gets no response, it is requested again when one of its kinds is needed.
func (d *Discovery) listEach(ctx context.Context, message *served) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, group := range message.groups.Groups {
		for _, v := range group.Versions {
			all.Go(func() {
				gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
				var list *metav1.APIResourceList
				err := d.requests.Once(ctx, transport.Request{Bulk: true, Quiet: true, Patience: forKinds}, func(ctx context.Context) (err error) {
					list, err = d.cache.live.ServerResourcesForGroupVersionWithContext(quietly(ctx), gv.String())
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					message.failed[gv] = err
					return
				}
				message.lists[gv] = list
			})
		}
	}
	all.Wait()
}

// list returns the kinds of a group version from the cache. It asks the server again if an earlier
// request for the group version failed, which happens only without aggregated discovery.
func (d *Discovery) list(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	list, err := d.cache.list(gv)
	if err == nil || errors.As(err, new(discovery.StaleGroupVersionError)) {
		return list, err
	}
	err = d.requests.Do(ctx, transport.Request{Ref: ofGroup(gv), Bulk: true, Patience: forKinds}, func(ctx context.Context) (err error) {
		list, err = d.cache.live.ServerResourcesForGroupVersionWithContext(quietly(ctx), gv.String())
		return err
	})
	return list, err
}

func ofGroup(gv schema.GroupVersion) object.Ref { return object.Ref{GVK: gv.WithKind("")} }

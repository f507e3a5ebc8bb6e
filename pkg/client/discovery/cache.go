package discovery

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Cache contains the kinds that the server serves, taken from its responses in this run or, before
// the first response, from kubectl's cache on disk. Cache updates the cache on disk.
//
// client-go's client for that cache is slower. It requests the core and the groups in sequence, and
// requests both again if the cache lacks one file. It writes only the files that it was asked for.
type Cache struct {
	// live sends requests through our transport, and caches schema documents on disk.
	live *discovery.DiscoveryClient
	disk store

	mu sync.Mutex
	// reported holds the server's response in this run; nil if there is none or if it is too old.
	reported *served
	// read holds the content of the cache on disk; nil if the cache was not read or must not be
	// used.
	read       *served
	distrusted bool
	seen       map[schema.GroupVersion]*metav1.APIResourceList
}

type served struct {
	groups *metav1.APIGroupList
	lists  map[schema.GroupVersion]*metav1.APIResourceList
	failed map[schema.GroupVersion]error
	// whole means that every group version that the server serves is in lists or in failed, as with
	// aggregated discovery (KEP-3352).
	whole bool
}

// NewCache returns the cache for a server. cacheDir is kubectl's cache folder. If cacheDir is "",
// the cache is only in memory.
func NewCache(config *rest.Config, cacheDir string) (*Cache, error) {
	if cacheDir == "" {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return nil, err
		}
		return &Cache{live: client}, nil
	}
	dir := filepath.Join(cacheDir, "discovery", hostFolder(config.Host))
	config = rest.CopyConfig(config)
	config.Wrap(unconditional)
	client, err := disk.NewCachedDiscoveryClientForConfig(config, dir, filepath.Join(cacheDir, "http"), cacheFor)
	if err != nil {
		return nil, err
	}
	return &Cache{live: discovery.NewDiscoveryClient(client.RESTClient()), disk: store{dir}}, nil
}

// unconditional removes If-Modified-Since, which the cache on disk adds if kubectl or we have stored a response.
// The list of schema documents has no ETag, and its time of modification is in seconds: after a second change
// within one second, the API server would answer "not modified" until the next one.
func unconditional(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(req *http.Request) (*http.Response, error) {
		if req.Header.Get("If-Modified-Since") != "" && req.Header.Get("If-None-Match") == "" {
			req = req.Clone(req.Context())
			req.Header.Del("If-Modified-Since")
		}
		return next.RoundTrip(req)
	})
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func hostFolder(host string) string {
	host = strings.Replace(strings.Replace(host, "https://", "", 1), "http://", "", 1)
	return regexp.MustCompile(`[^(\w/.)]`).ReplaceAllString(host, "_")
}

func (c *Cache) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reported != nil
}

func (c *Cache) distrust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported, c.read, c.distrusted = nil, nil, true
}

// known returns the content of the cache; nil if the cache does not even contain the groups. It
// reads only the groups from disk; kinds are read when they are needed.
func (c *Cache) known() *served {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reported != nil {
		return c.reported
	}
	if c.read == nil && !c.distrusted {
		if groups := c.disk.groups(); groups != nil {
			c.read = &served{groups: groups, lists: map[schema.GroupVersion]*metav1.APIResourceList{}}
		}
	}
	return c.read
}

// list returns the kinds of a group version; nil, nil if the cache does not contain them. It is not
// safe for concurrent use.
func (c *Cache) list(gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	now := c.known()
	if now == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := now.lists[gv]; list != nil || now == c.reported {
		return list, now.failed[gv]
	}
	list := c.disk.list(gv)
	if list != nil {
		now.lists[gv] = list
	}
	return list, nil
}

func (c *Cache) everything() *served {
	now := c.known()
	if now == nil || c.fresh() {
		return now
	}
	for _, group := range now.groups.Groups {
		for _, v := range group.Versions {
			if list, _ := c.list(schema.GroupVersion{Group: group.Name, Version: v.Version}); list == nil {
				return nil
			}
		}
	}
	return now
}

func (c *Cache) answer(message *served) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported = message
	for gv, list := range message.lists {
		if seen := c.seen[gv]; seen != nil && lacks(list, seen) {
			continue
		}
		c.disk.putList(gv, list)
	}
	c.disk.putGroups(message.groups)
}

// learn stores a list in which a kind first appeared. Only the next run uses the list, because this
// run uses the server's complete responses.
func (c *Cache) learn(gv schema.GroupVersion, list *metav1.APIResourceList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.seen[gv]; seen != nil && lacks(list, seen) {
		return
	}
	if c.seen == nil {
		c.seen = map[schema.GroupVersion]*metav1.APIResourceList{}
	}
	c.seen[gv] = list
	c.disk.putList(gv, list)
}

func lacks(list, of *metav1.APIResourceList) bool {
	return slices.ContainsFunc(of.APIResources, func(r metav1.APIResource) bool {
		return !slices.ContainsFunc(list.APIResources, func(has metav1.APIResource) bool {
			return has.Name == r.Name && has.Kind == r.Kind
		})
	})
}

type view struct {
	discovery.DiscoveryInterfaceWithContext
	*served
}

func (v view) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	groups, lists := []*metav1.APIGroup{}, []*metav1.APIResourceList{}
	for i, group := range v.groups.Groups {
		groups = append(groups, &v.groups.Groups[i])
		for _, version := range group.Versions {
			if list := v.lists[schema.GroupVersion{Group: group.Name, Version: version.Version}]; list != nil {
				lists = append(lists, list)
			}
		}
	}
	if len(v.failed) > 0 {
		return groups, lists, &discovery.ErrGroupDiscoveryFailed{Groups: maps.Clone(v.failed)}
	}
	return groups, lists, nil
}

// quietly returns a context with which client-go does not log an error that it also returns, unless
// the user asked for logs.
func quietly(ctx context.Context) context.Context {
	if klog.V(1).Enabled() {
		return ctx
	}
	return klog.NewContext(ctx, klog.Logger{})
}

const cacheFor = 6 * time.Hour

// store is kubectl's cache folder for one server. Errors are ignored, because the server can be
// asked again.
type store struct {
	dir string
}

func (s store) groups() *metav1.APIGroupList {
	var list metav1.APIGroupList
	if !s.get(&list, "servergroups.json") || list.Kind != "APIGroupList" {
		return nil
	}
	return &list
}

func (s store) list(gv schema.GroupVersion) *metav1.APIResourceList {
	var list metav1.APIResourceList
	if !s.get(&list, gv.Group, gv.Version, "serverresources.json") || list.Kind != "APIResourceList" {
		return nil
	}
	return &list
}

// putGroups stores the groups. Like kubectl, it does not store a response without groups.
func (s store) putGroups(list *metav1.APIGroupList) {
	if len(list.Groups) > 0 {
		s.put(list, "servergroups.json")
	}
}

func (s store) putList(gv schema.GroupVersion, list *metav1.APIResourceList) {
	if len(list.APIResources) > 0 {
		s.put(list, gv.Group, gv.Version, "serverresources.json")
	}
}

func (s store) path(elements []string) string {
	return filepath.Join(append([]string{s.dir}, elements...)...)
}

func (s store) get(into any, elements ...string) bool {
	if s.dir == "" {
		return false
	}
	path := s.path(elements)
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > cacheFor {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, into) == nil
}

// put replaces a file atomically, because kubectl may be reading the file at the same time.
func (s store) put(list runtime.Object, elements ...string) {
	if s.dir == "" {
		return
	}
	text, err := runtime.Encode(scheme.Codecs.LegacyCodec(), list)
	if err != nil {
		return
	}
	path := s.path(elements)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(file.Name(), 0o660)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}

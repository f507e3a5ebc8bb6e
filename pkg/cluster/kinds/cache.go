package kinds

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// cacheFor is how long kubectl trusts its cache on disk.
const cacheFor = 6 * time.Hour

// NewCache returns a discovery client on kubectl's cache, in kubectl's format, so that
// each benefits from the other's requests. It uses our transport, and so does not retry
// silently.
func NewCache(config *rest.Config, cacheDir string) (discovery.CachedDiscoveryInterfaceWithContext, error) {
	if cacheDir == "" {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return nil, err
		}
		return memory.NewMemCacheClientWithContext(client), nil
	}
	return disk.NewCachedDiscoveryClientForConfig(config,
		filepath.Join(cacheDir, "discovery", hostFolder(config.Host)), filepath.Join(cacheDir, "http"), cacheFor)
}

// hostFolder is kubectl's name for the folder of one server.
func hostFolder(host string) string {
	host = strings.Replace(strings.Replace(host, "https://", "", 1), "http://", "", 1)
	return regexp.MustCompile(`[^(\w/.)]`).ReplaceAllString(host, "_")
}

// quietly keeps client-go's discovery from logging errors that it also returns, and that
// we handle, unless the user asked for logs.
func quietly(ctx context.Context) context.Context {
	if klog.V(1).Enabled() {
		return ctx
	}
	return klog.NewContext(ctx, klog.Logger{})
}

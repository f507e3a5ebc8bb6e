package certificates

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func (s store) secretWatch() cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return s.secrets.List(ctx, named(s.secret, o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.secrets.Watch(ctx, named(s.secret, o))
		},
	}, s.secrets)
}

func (s store) configurationWatch() cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return s.configurations.List(ctx, named(s.configuration, o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.configurations.Watch(ctx, named(s.configuration, o))
		},
	}, s.configurations)
}

// named selects one object, which is all that a role needs to allow.
func named(name string, o metav1.ListOptions) metav1.ListOptions {
	o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
	return o
}

// follow watches one object, and kicks at each change. Failures are passed to failed.
func follow(ctx context.Context, from cache.ListerWatcher, kind runtime.Object, kick chan<- struct{}, failed func(context.Context, error)) cache.SharedInformer {
	changed := func() {
		select {
		case kick <- struct{}{}:
		default: // it is to look anyway
		}
	}
	informer := cache.NewSharedInformer(from, kind, 0)
	// Neither can fail before the informer runs.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { failed(ctx, err) })
	go informer.RunWithContext(ctx)
	return informer
}

// only returns the one object that an informer follows, or nil.
func only[T any](informer cache.SharedInformer) T {
	var none T
	for _, o := range informer.GetStore().List() {
		if object, ok := o.(T); ok {
			return object
		}
	}
	return none
}

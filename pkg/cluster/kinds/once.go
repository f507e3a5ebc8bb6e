package kinds

import "sync"

// once returns a function that calls f once for each argument. Who asks meanwhile waits.
func once[K comparable, V any](f func(K) V) func(K) V {
	var mu sync.Mutex
	known := map[K]func() V{}
	return func(key K) V {
		mu.Lock()
		value, ok := known[key]
		if !ok {
			value = sync.OnceValue(func() V { return f(key) })
			known[key] = value
		}
		mu.Unlock()
		return value()
	}
}

// Package redact keeps the values of Secrets out of all output. [Pair] masks two versions of an
// object, and the [Vault] of a run masks foreign text. The package never prints.
package redact

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Mask hides a value. Different values in a pair are given different masks, as in kubectl diff.
const (
	Mask   = "***"
	before = Mask + " (before)"
	after  = Mask + " (after)"
	yours  = Mask + " (yours)"
	live   = Mask + " (live)"
)

// IsSecret reports whether an object is a Secret of the core group, at any version.
func IsSecret(ref object.Ref) bool {
	return ref.GVK.Group == "" && ref.GVK.Kind == "Secret"
}

// Pair masks two versions of a Secret; equal values stay equal. It returns other objects unchanged.
// Results may share data with the arguments, so do not change them.
func Pair(ref object.Ref, b, a map[string]any) (masked, maskedToo map[string]any) {
	if !IsSecret(ref) {
		return b, a
	}
	x, y := pair(nil, b, a, b != nil, a != nil, before, after)
	masked, _ = x.(map[string]any)
	maskedToo, _ = y.(map[string]any)
	return masked, maskedToo
}

// Changes masks values in the changes to a Secret.
func Changes(ref object.Ref, changes []managedfields.Change) []managedfields.Change {
	if !IsSecret(ref) || changes == nil {
		return changes
	}
	out := make([]managedfields.Change, len(changes))
	for i, c := range changes {
		c.From, c.To = pair(names(c.Path), c.From, c.To, c.Kind != managedfields.Added, c.Kind != managedfields.Removed, before, after)
		out[i] = c
	}
	return out
}

// Conflicts masks values in the conflicts over a Secret.
func Conflicts(ref object.Ref, conflicts []managedfields.Conflict) []managedfields.Conflict {
	if !IsSecret(ref) || conflicts == nil {
		return conflicts
	}
	out := make([]managedfields.Conflict, len(conflicts))
	for i, c := range conflicts {
		c.Yours, c.Live = pair(names(c.Path), c.Yours, c.Live, true, c.HasLive, yours, live)
		out[i] = c
	}
	return out
}

// Object masks the values of a Secret. It returns other objects unchanged.
func Object(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil || !IsSecret(object.RefOf(u)) {
		return u
	}
	masked, _ := Pair(object.RefOf(u), u.Object, nil)
	return &unstructured.Unstructured{Object: masked}
}

func names(p fieldpath.Path) []string {
	var out []string
	for _, pe := range p {
		if pe.FieldName == nil {
			break
		}
		out = append(out, *pe.FieldName)
	}
	return out
}

type secrecy int

const (
	open secrecy = iota
	// A holder is not secret itself, but contains secret values.
	holder
	secret
)

func secrecyOf(path []string) secrecy {
	secrets := [][]string{
		{"data"}, {"stringData"}, {"metadata", "annotations", managedfields.LastAppliedAnnotation},
	}
	for _, s := range secrets {
		n := min(len(path), len(s))
		equal := true
		for i := range n {
			equal = equal && path[i] == s[i]
		}
		switch {
		case equal && len(path) >= len(s):
			return secret
		case equal:
			return holder
		}
	}
	return open
}

// pair masks two versions of a value. hasX and hasY report which of them exist.
func pair(path []string, x, y any, hasX, hasY bool, tagX, tagY string) (any, any) {
	level := secrecyOf(path)
	if level == open {
		return x, y
	}
	xm, xIsMap := x.(map[string]any)
	ym, yIsMap := y.(map[string]any)
	// Keep the keys of a map of values. No other map should occur below data and stringData.
	if (level == holder || len(path) == 1) && (xIsMap || yIsMap) {
		return pairMaps(path, x, y, xm, ym, tagX, tagY)
	}
	if level == holder {
		return x, y
	}
	if hasX && hasY && reflect.DeepEqual(x, y) {
		tagX, tagY = Mask, Mask
	}
	if !hasX || !hasY || x == nil || y == nil {
		tagX, tagY = Mask, Mask
	}
	return mask(x, tagX), mask(y, tagY)
}

func pairMaps(path []string, x, y any, xm, ym map[string]any, tagX, tagY string) (any, any) {
	outX, outY := maps.Clone(xm), maps.Clone(ym)
	for name, v := range xm {
		other, has := ym[name]
		mx, my := pair(append(slices.Clip(path), name), v, other, true, has, tagX, tagY)
		outX[name] = mx
		if has {
			outY[name] = my
		}
	}
	for name, v := range ym {
		if _, has := xm[name]; !has {
			_, outY[name] = pair(append(slices.Clip(path), name), nil, v, false, true, tagX, tagY)
		}
	}
	return orMask(x, outX, tagX), orMask(y, outY, tagY)
}

func orMask(v any, masked map[string]any, tag string) any {
	if _, ok := v.(map[string]any); ok {
		return masked
	}
	return mask(v, tag)
}

func mask(v any, tag string) any {
	if v == nil {
		return nil
	}
	return tag
}

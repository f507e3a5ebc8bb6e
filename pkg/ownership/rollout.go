package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// maxRollouts limits the rollouts in a record; a Deployment keeps ten old revisions by default.
const maxRollouts = 24

// Rollout is a write that changed the Pod template of a workload.
type Rollout struct {
	Time metav1.Time `json:"time"`
	User string      `json:"user"`
	// By is the owner that wrote; the zero value if managed fields do not show which one it was.
	By Holder `json:"by,omitzero"`
	// Before and After identify the templates; see [TemplateDigest].
	Before string `json:"before"`
	After  string `json:"after"`
}

// RolloutHint is what admission knows about a write that would change the Pod template of an object.
// The write may still be refused.
type RolloutHint struct {
	Rollout
	UID types.UID
	// ResourceVersion is the object's version before the write, Generation the one after it.
	ResourceVersion string
	Generation      int64
}

// TemplateDigest identifies a Pod template of an object. It ignores nulls and empty values, which the
// API server may add when it converts a template. The UID keeps digests of different objects apart.
func TemplateDigest(uid types.UID, template map[string]any) string {
	content, err := json.Marshal(filled(template))
	if err != nil { // A decoded object can be encoded.
		return ""
	}
	sum := sha256.Sum256(append([]byte(uid+"\n"), content...))
	return hex.EncodeToString(sum[:8])
}

func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range v {
			if below = filled(below); below != nil {
				out[name] = below
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = filled(v[i])
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return v
}

// WriterOf returns the owner that made a write, given the managed fields before and after it, and the
// manager that the client named, if any. It returns the zero value unless there is only one
// candidate.
func WriterOf(before, after []metav1.ManagedFieldsEntry, manager string) Holder {
	var all []Holder
	for _, f := range after {
		if f.Subresource == status || manager != "" && f.Manager != manager {
			continue
		}
		at := slices.IndexFunc(before, func(o metav1.ManagedFieldsEntry) bool {
			return o.Manager == f.Manager && o.Operation == f.Operation && o.Subresource == f.Subresource && o.APIVersion == f.APIVersion
		})
		if at >= 0 && before[at].Time.Equal(f.Time) && (manager == "" || sameFields(before[at].FieldsV1, f.FieldsV1)) {
			continue
		}
		all = append(all, Holder{
			Manager: text.Truncate(f.Manager, maxManager), Operation: string(f.Operation),
			Subresource: text.Truncate(f.Subresource, maxSubresource), APIVersion: text.Truncate(f.APIVersion, maxAPIVersion),
		})
	}
	if len(all) != 1 {
		return Holder{}
	}
	return all[0]
}

func sameFields(a, b *metav1.FieldsV1) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// NewRolloutRecord returns the empty record for the rollouts of an object. The object owns it.
func NewRolloutRecord(o Object) *Record {
	r := NewRecord(o, "")
	r.Name = RolloutRecordName(o.UID)
	return r
}

// RolloutRecordName returns the name of the record that contains the rollouts of an object.
func RolloutRecordName(uid types.UID) string { return "rollouts-" + string(uid) }

// AddRollout adds a rollout, and drops the oldest ones that do not fit.
func (r *Record) AddRollout(one Rollout) {
	one.User = text.Truncate(one.User, maxUser)
	r.Rollouts = append(r.Rollouts, one)
	slices.SortStableFunc(r.Rollouts, func(a, b Rollout) int { return a.Time.Compare(b.Time.Time) })
	r.Rollouts = slices.Delete(r.Rollouts, 0, max(0, len(r.Rollouts)-maxRollouts))
}

// NewRollout returns a rollout at a time.
func NewRollout(at time.Time, user string, by Holder, before, after string) Rollout {
	return Rollout{Time: metav1.NewTime(at), User: FitUser(user), By: by, Before: before, After: after}
}

package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
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

// WriterOf returns the owner that made a write to the object itself, given its managed fields before and
// after it. manager is the one that the client named, if any, and version the API version of the request. It
// returns the zero value unless they prove the owner.
//
// Only the writer's entry gets a new time, or more fields. An update that only removes fields does not even
// have such an entry: their owners lose them. Then the client's name is the proof, unless that manager also
// applies, because admission cannot distinguish an apply from an update.
func WriterOf(before, after []metav1.ManagedFieldsEntry, manager, version string) Holder {
	applies := func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply
	}
	if manager != "" && !slices.ContainsFunc(before, applies) && !slices.ContainsFunc(after, applies) { // An apply leaves an entry.
		return holderOf(managedfields.Owner{Manager: manager, Operation: managedfields.Update, APIVersion: version})
	}
	var all []Holder
	for _, f := range after {
		at := slices.IndexFunc(before, func(o metav1.ManagedFieldsEntry) bool {
			return o.Manager == f.Manager && o.Operation == f.Operation && o.Subresource == f.Subresource && o.APIVersion == f.APIVersion
		})
		wrote := at < 0 || !before[at].Time.Equal(f.Time) || gained(before[at].FieldsV1, f.FieldsV1)
		if wrote && f.Subresource == "" && (manager == "" || f.Manager == manager) {
			all = append(all, holderOf(managedfields.Owner{Manager: f.Manager, Operation: string(f.Operation), APIVersion: f.APIVersion}))
		}
	}
	if len(all) != 1 {
		return Holder{}
	}
	return all[0]
}

// gained reports whether fields were added. It returns false if they cannot be decoded.
func gained(before, after *metav1.FieldsV1) bool {
	if before == nil || after == nil || before.Equal(*after) {
		return false
	}
	was, wasErr := fieldpath.FromJSON(before.GetRawReader())
	is, isErr := fieldpath.FromJSON(after.GetRawReader())
	return wasErr == nil && isErr == nil && !is.Difference(was).Empty()
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

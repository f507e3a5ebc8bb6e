package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// These are the keys in the ConfigMap of the checkpoint, and the label of the ConfigMap. The
// published copy also has NamespaceKey.
const (
	CheckpointKey = "checkpoint"
	CoverageKey   = "coverage"
	ScopeKey      = "scope"
	SeenKey       = "seen"
	NamespaceKey  = "namespace"
	Label         = "k8sconnect.io/tracker"
)

const fieldManager = "k8sconnect-tracker"

type kept struct {
	configMap  *corev1.ConfigMap // nil if there is none
	checkpoint Checkpoint
	coverage   Coverage
	scope      ownership.Scope
	// seen contains the leader's notes, and noted contains the notes of other replicas. If the
	// leader's notes cannot be decoded, unread is the period that they cover.
	seen, noted []unrecorded
	unread      Span
}

// read returns the stored state. The history starts over if the state cannot be decoded or was
// copied from another cluster.
func (t *Tracker) read(ctx context.Context) (kept, error) {
	c, err := t.opts.ConfigMaps.Get(ctx, t.opts.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, fmt.Errorf("get config map %s: %w", t.opts.Name, err)
	}
	if c.UID == "" || c.Name != t.opts.Name {
		return kept{}, fmt.Errorf("get config map %s: the server returned %q with the UID %q", t.opts.Name, c.Name, c.UID)
	}
	k := kept{configMap: c}
	if err := parse(c.Data[CheckpointKey], &k.checkpoint); err != nil {
		t.opts.Log.Error(err, "cannot decode the checkpoint")
		return kept{configMap: c}, nil
	}
	if k.checkpoint.Of != "" && k.checkpoint.Of != string(c.UID) {
		t.opts.Log.Info("the checkpoint is from another cluster")
		return kept{configMap: c}, nil
	}
	if err := parse(c.Data[CoverageKey], &k.coverage); err != nil {
		t.opts.Log.Error(err, "cannot decode the coverage")
		k.coverage = Coverage{}
	}
	t.keptGaps(k.coverage)
	if err := parse(c.Data[ScopeKey], &k.scope); err != nil {
		t.opts.Log.Error(err, "cannot decode the scope")
		k.scope = ownership.Scope{}
	}
	if k.seen, err = decodeSeen(c.BinaryData[SeenKey]); err != nil || k.checkpoint.Seen.IsZero() != (len(k.seen) == 0) {
		t.opts.Log.Error(err, "cannot decode the notes of the checkpoint")
		k.seen, k.unread = nil, Span{k.checkpoint.Seen, k.checkpoint.Heard}
	}
	for key, content := range c.BinaryData {
		if strings.HasPrefix(key, SeenKey+"-") {
			noted, err := decodeSeen(content)
			if err != nil {
				t.opts.Log.Error(err, "cannot decode the notes of another replica")
			}
			k.noted = append(k.noted, noted...)
		}
	}
	return k, nil
}

func (t *Tracker) keptGaps(c Coverage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gapped = c.LastGap()
}

func parse(text string, into any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// write stores the checkpoint and the leader's notes. It removes the notes of other replicas,
// because the leader's notes include them.
func (t *Tracker) write(ctx context.Context, k kept, out stored, seen []byte, scope ownership.Scope) (err error) {
	if k.configMap == nil {
		if k.configMap, err = t.create(ctx); err != nil {
			return err
		}
	}
	out.checkpoint.Of = string(k.configMap.UID)
	now := time.Now().UTC()
	if k.coverage.Since.IsZero() {
		k.coverage.Since = now.Truncate(time.Second)
	}
	k.coverage.Add(out.news.Gaps...)
	k.coverage.Behind = out.news.Behind
	c := k.configMap.DeepCopy()
	c.Data, c.BinaryData = map[string]string{}, nil
	if len(out.seen) > 0 {
		c.BinaryData = map[string][]byte{SeenKey: seen}
		out.checkpoint.Seen = slices.MinFunc(out.seen, func(a, b unrecorded) int { return a.since.Compare(b.since) }).since.UTC()
	}
	content := map[string]any{CheckpointKey: out.checkpoint, CoverageKey: k.coverage, ScopeKey: scope.After(k.scope, now.Truncate(time.Second))}
	for key, value := range content {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		c.Data[key] = string(text)
	}
	if equality.Semantic.DeepEqual(c, k.configMap) {
		return nil
	}
	written, err := t.update(ctx, c)
	if err != nil {
		return err
	}
	t.keptGaps(k.coverage)
	t.publish(ctx, k.coverage, c.Data, out.checkpoint.Heard)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.wrote(written.ResourceVersion, now)
	return nil
}

// publishEvery is how often the published copy is written if only its time changes.
const publishEvery = time.Minute

// publish copies the parts of the checkpoint that readers of a history need. It omits the other
// parts, because they contain names of objects and users. If a write fails, the time in the copy
// tells readers that the copy is old.
func (t *Tracker) publish(ctx context.Context, c Coverage, stored map[string]string, heard time.Time) {
	if t.opts.Public == nil {
		return
	}
	now, behind := time.Now(), c.Behind != nil
	content := fmt.Sprint(stored[ScopeKey], c.Since, c.Gaps, behind)
	if content == t.published.content && now.Sub(t.published.at) < publishEvery {
		return
	}
	t.published.content, t.published.at = content, now
	checkpoint, err := json.Marshal(map[string]time.Time{"heard": heard})
	if err == nil {
		copied := applycorev1.ConfigMap(ownership.ScopeName, ownership.ScopeNamespace).WithLabels(t.opts.Labels).WithAnnotations(t.opts.Annotations).WithData(map[string]string{
			CheckpointKey: string(checkpoint), CoverageKey: stored[CoverageKey], ScopeKey: stored[ScopeKey], NamespaceKey: t.opts.Namespace,
		})
		_, err = t.opts.Public.Apply(ctx, copied, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	}
	if err != nil {
		t.opts.Log.Error(err, "cannot publish what is tracked")
	}
}

func (t *Tracker) writeReported(ctx context.Context, k kept, content []byte) error {
	if k.configMap == nil {
		return nil // A leader creates it.
	}
	c := k.configMap.DeepCopy()
	if c.BinaryData == nil {
		c.BinaryData = map[string][]byte{}
	}
	c.BinaryData[t.noteKey()] = content
	_, err := t.update(ctx, c)
	return err
}

// noteKey returns the key of this replica's notes. The leader merges them into its own notes.
func (t *Tracker) noteKey() string { return SeenKey + "-" + t.id }

func (t *Tracker) update(ctx context.Context, c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	written, err := t.opts.ConfigMaps.Update(ctx, c, metav1.UpdateOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("update config map %s: %w", t.opts.Name, err)
	}
	return written, nil
}

// create creates the checkpoint's ConfigMap by apply, because RBAC can permit an apply for one
// name, but not a create.
func (t *Tracker) create(ctx context.Context) (*corev1.ConfigMap, error) {
	empty := applycorev1.ConfigMap(t.opts.Name, "").WithLabels(map[string]string{Label: "true"}).WithLabels(t.opts.Labels).WithAnnotations(t.opts.Annotations)
	empty.Namespace = nil // The client determines the namespace.
	c, err := t.opts.ConfigMaps.Apply(ctx, empty, metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("create config map %s: %w", t.opts.Name, err)
	}
	return c, nil
}

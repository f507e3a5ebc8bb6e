package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// What the ConfigMap of the checkpoint holds, and the label by which it is found.
const (
	CheckpointKey = "checkpoint"
	CoverageKey   = "coverage"
	ScopeKey      = "scope"
	Label         = "k8sconnect.io/tracker"
)

// fieldManager owns the label and the data.
const fieldManager = "k8sconnect-tracker"

// kept is what is stored.
type kept struct {
	configMap  *corev1.ConfigMap // nil if there is none
	checkpoint Checkpoint
	coverage   Coverage
	scope      ownership.Scope
}

// read returns what is stored. If it cannot be read, or was copied from another cluster,
// history starts over.
func (t *Tracker) read(ctx context.Context) (kept, error) {
	c, err := t.opts.ConfigMaps.Get(ctx, t.opts.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, fmt.Errorf("get config map %s: %w", t.opts.Name, err)
	}
	if c.UID == "" || c.Name != t.opts.Name {
		return kept{}, fmt.Errorf("get config map %s: the answer is %q with the UID %q", t.opts.Name, c.Name, c.UID)
	}
	k := kept{configMap: c}
	if err := parse(c.Data[CheckpointKey], &k.checkpoint); err != nil {
		t.opts.Log.Error(err, "the checkpoint is not readable")
		return kept{configMap: c}, nil
	}
	if k.checkpoint.Of != "" && k.checkpoint.Of != string(c.UID) {
		t.opts.Log.Info("the checkpoint is another cluster's")
		return kept{configMap: c}, nil
	}
	if err := parse(c.Data[CoverageKey], &k.coverage); err != nil {
		t.opts.Log.Error(err, "the coverage is not readable")
		k.coverage = Coverage{}
	}
	t.keptGaps(k.coverage)
	if err := parse(c.Data[ScopeKey], &k.scope); err != nil {
		t.opts.Log.Error(err, "the scope is not readable")
		k.scope = ownership.Scope{}
	}
	return k, nil
}

// keptGaps records the declared gaps for the metrics.
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

// write stores a checkpoint, what is tracked, and how far recording is behind, and adds
// gaps to those that are declared.
func (t *Tracker) write(ctx context.Context, checkpoint Checkpoint, scope ownership.Scope, news Coverage) error {
	k, err := t.read(ctx)
	if err != nil {
		return err
	}
	if k.configMap == nil {
		if k.configMap, err = t.create(ctx); err != nil {
			return err
		}
	}
	checkpoint.Of = string(k.configMap.UID)
	now := time.Now().UTC().Truncate(time.Second)
	if k.coverage.Since.IsZero() {
		k.coverage.Since = now
	}
	k.coverage.Add(news.Gaps...)
	k.coverage.Behind = news.Behind
	c := k.configMap.DeepCopy()
	c.Data = map[string]string{}
	stored := map[string]any{CheckpointKey: checkpoint, CoverageKey: k.coverage, ScopeKey: scope.After(k.scope, now)}
	for key, value := range stored {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		c.Data[key] = string(text)
	}
	if maps.Equal(c.Data, k.configMap.Data) {
		return nil
	}
	if _, err := t.opts.ConfigMaps.Update(ctx, c, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("update config map %s: %w", t.opts.Name, err)
	}
	t.keptGaps(k.coverage)
	return nil
}

// create makes the ConfigMap by apply: RBAC can permit that for one name.
func (t *Tracker) create(ctx context.Context) (*corev1.ConfigMap, error) {
	empty := applycorev1.ConfigMap(t.opts.Name, "").WithLabels(map[string]string{Label: "true"}).WithLabels(t.opts.Labels).WithAnnotations(t.opts.Annotations)
	empty.Namespace = nil // It is that of the client.
	c, err := t.opts.ConfigMaps.Apply(ctx, empty, metav1.ApplyOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("create config map %s: %w", t.opts.Name, err)
	}
	return c, nil
}

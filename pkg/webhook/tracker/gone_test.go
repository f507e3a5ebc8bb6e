package tracker

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A checkpoint does not pass a deletion that is not recorded: a replica that starts from it sees the
// deletion again.
func TestCheckpointHoldsDeletions(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := newState(time.Second)
	k := kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, name: "ConfigMap", namespaced: true}
	w := s.add(k, position{})
	s.afresh(w, now)
	s.listed(w, "10", now)
	s.onObject(w, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "a", ResourceVersion: "11"}}, false, now)
	m := s.hold(w, "a", "12", now)
	s.deleted(w, "a", "12", now)
	s.bookmark(w, "20", now)
	if at := s.store(100, now).checkpoint.Resources["configmaps"].Version; at != "11" {
		t.Errorf("the checkpoint is at %s, not at 11", at)
	}
	m.settled = true
	if at := s.store(100, now).checkpoint.Resources["configmaps"].Version; at != "20" {
		t.Errorf("the checkpoint is at %s, not at 20", at)
	}
	if got := s.backlog(now.Add(time.Hour)); got != nil {
		t.Errorf("a deletion counts as a change of owners: %+v", got)
	}
}

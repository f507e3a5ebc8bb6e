package releases_test

import "testing"

// Helm accepts a manifest that contains an object twice. It is deleted once, and listed once.
func TestObjectTwiceIsDeletedOnce(t *testing.T) {
	s := newSite(t, "once")
	s.helm.Run(t, "install", "web", folder(t, with(note+note+rest)), "-n", s.namespace)
	_, all, text := s.forecasts(t, "web", s.output(t, folder(t, rest)))
	if len(all[0].Deletes) != 1 {
		t.Error(text)
	}
}

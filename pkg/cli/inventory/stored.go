package inventory

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Stored are the revisions that Helm stored of each release, as far as they matter for the next
// upgrade.
type Stored map[StoredRelease]Revisions

// StoredRelease identifies a release in one storage. Helm reads only one of them, so two releases in Secrets
// and ConfigMaps can have the same name.
type StoredRelease struct {
	Release
	Driver string
}

// These are the values of Helm's variable HELM_DRIVER for the storage in Secrets, the default, and in
// ConfigMaps.
const (
	InSecrets    = "secret"
	InConfigMaps = "configmap"
)

// DriverOf returns the storage to which a revision belongs.
func DriverOf(stored *unstructured.Unstructured) string {
	if stored.GetKind() == "ConfigMap" {
		return InConfigMaps
	}
	return InSecrets
}

// Revisions are the Secrets or ConfigMaps of two revisions of a release.
type Revisions struct {
	// Last is the newest revision, and Deployed the newest one that succeeded; nil if there is none.
	Last, Deployed *unstructured.Unstructured
	// Failed are those that did not succeed, in no order. Helm may have created some of their objects.
	Failed []*unstructured.Unstructured
}

// Add adds a revision. Objects that only have Helm's labels are ignored.
func (s Stored) Add(u *unstructured.Unstructured) {
	version, is := revisionOf(u)
	if !is {
		return
	}
	of := StoredRelease{Release{Namespace: u.GetNamespace(), Name: u.GetLabels()["name"]}, DriverOf(u)}
	r := s[of]
	later := func(than *unstructured.Unstructured) bool {
		if than == nil {
			return true
		}
		other, _ := revisionOf(than)
		return version > other
	}
	if later(r.Last) {
		r.Last = u
	}
	switch status := u.GetLabels()["status"]; {
	case status == "deployed" && later(r.Deployed):
		r.Deployed = u
	case status == "failed", strings.HasPrefix(status, "pending-"):
		r.Failed = append(r.Failed, u)
	}
	s[of] = r
}

// Base returns the revision whose manifest Helm compares with the next one: the deployed revision
// or, if none succeeded, the last one (prepareUpgrade in helm/helm, pkg/action/upgrade.go).
func (r Revisions) Base() *unstructured.Unstructured {
	if r.Deployed != nil {
		return r.Deployed
	}
	return r.Last
}

func revisionOf(u *unstructured.Unstructured) (int, bool) {
	if kind, _, _ := unstructured.NestedString(u.Object, "type"); kind != SecretType && u.GetKind() != "ConfigMap" {
		return 0, false
	}
	version, err := strconv.Atoi(u.GetLabels()["version"])
	return version, err == nil
}

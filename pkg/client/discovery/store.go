package discovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// cacheFor is how long kubectl trusts its cache on disk.
const cacheFor = 6 * time.Hour

// store is the folder in which kubectl caches what one server serves: a file for the groups, and
// one for the kinds of each group version. An unreadable file counts as absent, and an answer that
// cannot be written is not kept: it is requested again.
type store struct {
	dir string // empty: nothing is kept
}

func (s store) groups() *metav1.APIGroupList {
	var list metav1.APIGroupList
	if !s.get(&list, "servergroups.json") || list.Kind != "APIGroupList" {
		return nil
	}
	return &list
}

func (s store) list(gv schema.GroupVersion) *metav1.APIResourceList {
	var list metav1.APIResourceList
	if !s.get(&list, gv.Group, gv.Version, "serverresources.json") || list.Kind != "APIResourceList" {
		return nil
	}
	return &list
}

// putGroups does not keep an answer without groups, as kubectl does not.
func (s store) putGroups(list *metav1.APIGroupList) {
	if len(list.Groups) > 0 {
		s.put(list, "servergroups.json")
	}
}

// putList does not keep an answer without kinds, as kubectl does not.
func (s store) putList(gv schema.GroupVersion, list *metav1.APIResourceList) {
	if len(list.APIResources) > 0 {
		s.put(list, gv.Group, gv.Version, "serverresources.json")
	}
}

func (s store) path(elements []string) string {
	return filepath.Join(append([]string{s.dir}, elements...)...)
}

func (s store) get(into any, elements ...string) bool {
	if s.dir == "" {
		return false
	}
	path := s.path(elements)
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > cacheFor {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, into) == nil
}

// put replaces a file in one step, since kubectl may be reading it.
func (s store) put(list runtime.Object, elements ...string) {
	if s.dir == "" {
		return
	}
	text, err := runtime.Encode(scheme.Codecs.LegacyCodec(), list)
	if err != nil {
		return
	}
	path := s.path(elements)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(file.Name(), 0o660)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // A leftover file does no harm.
	}
}

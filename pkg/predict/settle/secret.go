package settle

import (
	"encoding/base64"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// stringData evaluates the write-only field of a Secret (edge case 12). It is never live;
// the server puts its values into data. Applying it again is a no-op if data has those
// values and no one else holds paths of stringData: another holder would conflict with
// every apply.
func (s *settler) stringData(v any, set *fieldpath.Set) bool {
	m, ok := v.(map[string]any)
	pe := fieldpath.FieldElement("stringData")
	child, held := fieldpath.Below(set, pe)
	if !ok || !held || len(m) == 0 || set.Members.Has(pe) {
		return false
	}
	for _, e := range s.others {
		if fieldpath.Touches(e.Fields, fieldpath.Path{pe}) {
			return false
		}
	}
	live, _ := s.live["data"].(map[string]any)
	for name, v := range m {
		text, ok := v.(string)
		if !ok || !child.Members.Has(fieldpath.Element{FieldName: &name}) {
			return false
		}
		if live[name] != any(base64.StdEncoding.EncodeToString([]byte(text))) {
			return false
		}
		s.matched++
	}
	return true
}

package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/certificates"
)

// digestAnnotation is the chart's SHA-256 of the entries that it made.
const digestAnnotation = "k8sconnect.io/webhooks-digest"

// pathOf says where the API server asks by each entry.
func pathOf(entry string) string {
	switch entry {
	case "ownership.k8sconnect.io":
		return admission.OwnershipPath
	case "deprecation.k8sconnect.io", customEntry:
		return admission.DeprecationPath
	case reachEntry:
		return admission.ReachPath
	}
	return ""
}

// charted are the entries of the webhook configuration as the chart made them. The zero
// value knows none, and restores nothing but paths.
type charted struct {
	entries []admissionv1.ValidatingWebhook
	digest  string
}

// parseCharted reads the entries as the chart wrote them, in JSON.
func parseCharted(text string) (charted, error) {
	if text == "" {
		return charted{}, nil
	}
	var c charted
	if err := json.Unmarshal([]byte(text), &c.entries); err != nil {
		return c, fmt.Errorf("read the entries of the webhook configuration: %w", err)
	}
	sum := sha256.Sum256([]byte(text))
	c.digest = hex.EncodeToString(sum[:])
	return c, nil
}

// repair returns the JSON patch that gives a configuration the paths with the token and
// restores the rest to what the chart made, and the names of the entries that differed;
// nil if nothing has to be done. It leaves what the chart does not set: the caBundle, the
// selector by which calls are suspended, and the rules of custom kinds. A configuration
// of another chart, as during an upgrade, is left alone except for its paths. The patch
// is refused if the configuration has changed in the meantime.
func (c charted) repair(is *admissionv1.ValidatingWebhookConfiguration, token string) (patch []byte, restored []string, err error) {
	entries, restored := c.restore(is)
	for i, e := range entries {
		if path := pathOf(e.Name); path != "" && e.ClientConfig.Service != nil && !statesPaths(is, e) {
			path += "/" + token
			entries[i].ClientConfig.Service = e.ClientConfig.Service.DeepCopy()
			entries[i].ClientConfig.Service.Path = &path
		}
	}
	if apiequality.Semantic.DeepEqual(entries, is.Webhooks) {
		return nil, nil, nil
	}
	patch, err = json.Marshal([]operation{
		{"test", "/metadata/resourceVersion", is.ResourceVersion},
		{"replace", "/webhooks", entries},
	})
	return patch, restored, err
}

// statesPaths reports whether an entry is of a chart that states the paths, as charts did
// that knew no digest: a rollback goes back to it before the pods are replaced.
func statesPaths(is *admissionv1.ValidatingWebhookConfiguration, e admissionv1.ValidatingWebhook) bool {
	path := e.ClientConfig.Service.Path
	return is.Annotations[digestAnnotation] == "" && path != nil && *path == pathOf(e.Name)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// disown returns the JSON patch after which the webhook owns no field of a configuration;
// nil if it owns none. A manager that restores a value owns it, and an upgrade that
// changes the value would meet a conflict. A manager that wrote a caBundle or rules owns
// a part of the entry; an upgrade or a rollback to a chart without that entry would leave
// this part behind, which is not a valid entry, and fail.
func disown(is *admissionv1.ValidatingWebhookConfiguration) ([]byte, error) {
	patch := []operation{{"test", "/metadata/resourceVersion", is.ResourceVersion}}
	for i, m := range slices.Backward(is.ManagedFields) {
		if m.Manager == guardManager || m.Manager == callsManager || m.Manager == certificates.Manager {
			patch = append(patch, operation{Op: "remove", Path: fmt.Sprintf("/metadata/managedFields/%d", i)})
		}
	}
	if len(patch) == 1 {
		return nil, nil
	}
	return json.Marshal(patch)
}

// restore returns the entries as they are to be, but for their paths.
func (c charted) restore(is *admissionv1.ValidatingWebhookConfiguration) (entries []admissionv1.ValidatingWebhook, restored []string) {
	if c.digest == "" || is.Annotations[digestAnnotation] != c.digest {
		return slices.Clone(is.Webhooks), nil
	}
	for _, e := range is.Webhooks {
		if !slices.ContainsFunc(c.entries, func(other admissionv1.ValidatingWebhook) bool { return other.Name == e.Name }) {
			restored = append(restored, e.Name)
		}
	}
	for _, want := range c.entries {
		entry := *want.DeepCopy()
		i := slices.IndexFunc(is.Webhooks, func(other admissionv1.ValidatingWebhook) bool { return other.Name == want.Name })
		if i < 0 {
			restored = append(restored, want.Name)
			entries = append(entries, entry)
			continue
		}
		live := is.Webhooks[i]
		entry.ObjectSelector, entry.ClientConfig.CABundle = live.ObjectSelector, live.ClientConfig.CABundle
		if entry.Rules == nil { // They are the leader's, which restores them itself.
			entry.Rules = live.Rules
		}
		if s := live.ClientConfig.Service; s != nil && entry.ClientConfig.Service != nil {
			entry.ClientConfig.Service.Path = s.Path
		}
		if !apiequality.Semantic.DeepEqual(entry, live) {
			restored = append(restored, want.Name)
		}
		entries = append(entries, entry)
	}
	return entries, restored
}

{{/* What the webhook never sees, as JSON lists. The values only add to it. */}}
{{- define "k8sconnect.excludedNamespaces" -}}
{{- concat (list "kube-system" "kube-node-lease" .Release.Namespace) .Values.exclude.namespaces | uniq | toJson -}}
{{- end -}}

{{/* What the values add to the kinds that are never seen. */}}
{{- define "k8sconnect.addedKinds" -}}
{{- concat .Values.exclude.kinds (ternary (list) (list "Secret") .Values.tracking.secrets) | uniq | toJson -}}
{{- end -}}

{{- define "k8sconnect.excludedKinds" -}}
{{- $always := .Files.Get "files/excluded-kinds.yaml" | fromYamlArray -}}
{{- concat $always (include "k8sconnect.addedKinds" . | fromJsonArray) | uniq | toJson -}}
{{- end -}}

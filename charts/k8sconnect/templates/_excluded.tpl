{{/* Namespaces and kinds that the webhook never sees, as JSON lists. Values can only add to them. */}}
{{- define "k8sconnect.excludedNamespaces" -}}
{{- concat (list "kube-system" "kube-node-lease" .Release.Namespace) .Values.exclude.namespaces | uniq | toJson -}}
{{- end -}}

{{/* Kinds that the values add. */}}
{{- define "k8sconnect.addedKinds" -}}
{{- concat .Values.exclude.kinds (ternary (list) (list "Secret") .Values.tracking.secrets) | uniq | toJson -}}
{{- end -}}

{{- define "k8sconnect.excludedKinds" -}}
{{- $always := .Files.Get "files/excluded-kinds.yaml" | fromYamlArray -}}
{{- concat $always (include "k8sconnect.addedKinds" . | fromJsonArray) | uniq | toJson -}}
{{- end -}}

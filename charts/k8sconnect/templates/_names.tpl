{{/* The name of the release's objects. A release's name may contain a dot or begin with a digit,
     but a Service's may not. */}}
{{- define "k8sconnect.name" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q is not a valid name for a Service: set fullnameOverride, or use another release name" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "k8sconnect.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "k8sconnect.name" .) -}}
{{- end -}}

{{/* The Secret with the certificate. Each mode has its own, so that neither mode finds the other's
     data after a change. */}}
{{- define "k8sconnect.certificateSecret" -}}
{{- include "k8sconnect.name" . }}-{{ ternary "tls" "self-signed" .Values.certificates.certManager -}}
{{- end -}}

{{- define "k8sconnect.image" -}}
{{- $registry := dig "imageRegistry" "" (.Values.global | default dict) -}}
{{- with .Values.image -}}
{{ if $registry }}{{ $registry }}/{{ regexReplaceAll "^[^/]*[.:][^/]*/" .repository "" }}{{ else }}{{ .repository }}{{ end }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* The Pods' selector. It must never change, because a Deployment's selector is immutable. */}}
{{- define "k8sconnect.selector" -}}
app.kubernetes.io/name: k8sconnect
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "k8sconnect.labels" -}}
{{ include "k8sconnect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* No write ever fails because of the webhook, so somebody has to be told when it
     fails itself. What each alert asks for is in docs/webhook.md. */}}
{{- define "k8sconnect.alerts" -}}
{{- $up := printf "up{namespace=%q, service=%q}" .Release.Namespace (include "k8sconnect.name" .) -}}
{{- $entries := "name=~\"(ownership|deprecation)[.]k8sconnect[.]io\"" -}}
{{ if .Values.monitoring.serviceMonitor.enabled -}}
- alert: K8sconnectWebhookDown
  expr: (sum({{ $up }}) or vector(0)) == 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: No replica of the k8sconnect webhook answers.
    description: Nothing is denied or delayed by it, but takeovers are not told, and what the API server forgets meanwhile is recorded as a gap.
{{ end -}}
- alert: K8sconnectCallsSuspended
  expr: max(k8sconnect_admission_suspended{namespace={{ .Release.Namespace | quote }}}) == 1
  for: 5m
  labels: {severity: warning}
  annotations:
    summary: The API server's calls to the k8sconnect webhook do not come back, and are suspended.
    description: Writes do not wait for it. Nobody is warned, and takeovers are recorded without their users. The network has to let API servers reach the pods at port {{ .Values.admission.port }}.
- alert: K8sconnectCallsIgnored
  expr: sum by (name) (increase(apiserver_admission_webhook_fail_open_count{ {{- $entries -}} }[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: The API server calls {{ "{{ $labels.name }}" }} and goes on without its answer.
    description: Each such write may have waited for the time-out of {{ .Values.admission.timeoutSeconds }} s. See whether the pods are ready, whether the certificate is the one of the configuration's caBundle, and whether the network lets the API server in.
- alert: K8sconnectMatchConditionErrors
  expr: sum by (name) (increase(apiserver_admission_match_condition_evaluation_errors_total{ {{- $entries -}} }[10m])) > 0
  labels: {severity: warning}
  annotations:
    summary: A match condition of {{ "{{ $labels.name }}" }} cannot be evaluated.
    description: The API server skips the webhook for these writes without a word. Takeovers are still recorded, without the user. An object may be too large for the API server's limit.
- alert: K8sconnectNoLeader
  expr: sum(k8sconnect_tracker_leads{namespace={{ .Release.Namespace | quote }}}) == 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: No replica of the k8sconnect webhook leads.
    description: Takeovers whose user is not known are not recorded, and the checkpoint stands still. The log says why the Lease cannot be had.
- alert: K8sconnectCertificateExpires
  expr: min(k8sconnect_certificate_expires_timestamp_seconds{namespace={{ .Release.Namespace | quote }}}) - time() < 5 * 24 * 3600
  for: 1h
  labels: {severity: warning}
  annotations:
    summary: The certificate of the k8sconnect webhook is not renewed.
    description: It expires within five days; after that, the API server goes on without answers. See the log, or cert-manager's Certificate.
- alert: K8sconnectFaults
  expr: sum by (webhook, fault) (increase(k8sconnect_admission_faults_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: The k8sconnect webhook cannot judge some reviews ({{ "{{ $labels.webhook }}, {{ $labels.fault }}" }}).
    description: Their writes pass without a warning. The log names the kind of the object.
- alert: K8sconnectGaps
  expr: time() - max(k8sconnect_tracker_gap_end_timestamp_seconds{namespace={{ .Release.Namespace | quote }}}) < 3600
  labels: {severity: info}
  annotations:
    summary: Not every change of field owners is known.
    description: The webhook did not run for longer than the API server remembers, or its watch broke. Histories show the time as one of which not every change is known. The log names the resources and the reason.
- alert: K8sconnectHintsDropped
  expr: sum(increase(k8sconnect_hints_dropped_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: The k8sconnect webhook sees more takeovers than it can join with their writes.
    description: They are recorded, but without the user who sent them.
- alert: K8sconnectRecordsBehind
  expr: max(k8sconnect_records_behind_seconds{namespace={{ .Release.Namespace | quote }}}) > 600
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: Takeovers wait for more than ten minutes to be recorded.
    description: More objects change hands than tracking.recordsPerSecond ({{ .Values.tracking.recordsPerSecond }}) lets be recorded. Until it has caught up, histories say how many changes are missing.
- alert: K8sconnectRecordsNotWritten
  expr: sum(increase(k8sconnect_records_write_errors_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: Ownership records cannot be written.
    description: They wait in memory and are tried again. The log names the reason; usual ones are permissions, a quota, or an admission webhook that denies.
- alert: K8sconnectRecordsLost
  expr: sum(increase(k8sconnect_records_lost_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  labels: {severity: warning}
  annotations:
    summary: Takeovers are in no ownership record.
    description: They were refused for an hour, or there were more than can wait. Histories show their time as one of which not every change is known.
{{- end -}}

{{/* No write fails because of the webhook, so only alerts show that the webhook itself fails.
     docs/webhook.md says what to do about each alert. */}}
{{- define "k8sconnect.alerts" -}}
{{- $up := printf "up{namespace=%q, service=%q}" .Release.Namespace (include "k8sconnect.name" .) -}}
{{- $entries := "name=~\"(ownership|deletion|deprecation)[.]k8sconnect[.]io\"" -}}
{{ if .Values.monitoring.serviceMonitor.enabled -}}
- alert: K8sconnectWebhookDown
  expr: (sum({{ $up }}) or vector(0)) == 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: No replica of the k8sconnect webhook is running.
    description: No write is denied or delayed, but there are no warnings, and changes that the API server no longer has when the webhook returns are declared as a gap.
{{ end -}}
- alert: K8sconnectCallsSuspended
  expr: max(k8sconnect_admission_suspended{namespace={{ .Release.Namespace | quote }}}) == 1
  for: 5m
  labels: {severity: warning}
  annotations:
    summary: The API server's calls to the k8sconnect webhook get no answer, and are suspended.
    description: Writes do not wait for the webhook. There are no warnings, and takeovers are recorded without their users. The network must let API servers reach the Pods on port {{ .Values.admission.port }}.
- alert: K8sconnectCallsIgnored
  expr: sum by (name) (increase(apiserver_admission_webhook_fail_open_count{ {{- $entries -}} }[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: The API server calls {{ "{{ $labels.name }}" }} but gets no answer.
    description: Each of these writes may have waited for the timeout of {{ .Values.admission.timeoutSeconds }} s. Check that the Pods are ready, that the caBundle in the webhook configuration matches the certificate, and that the network lets the API server reach the Pods.
- alert: K8sconnectMatchConditionErrors
  expr: sum by (name) (increase(apiserver_admission_match_condition_evaluation_errors_total{ {{- $entries -}} }[10m])) > 0
  labels: {severity: warning}
  annotations:
    summary: A match condition of {{ "{{ $labels.name }}" }} cannot be evaluated.
    description: The API server silently skips the webhook for these writes. Takeovers are still recorded, but without the user. An object may exceed the API server's cost limit.
- alert: K8sconnectNoLeader
  expr: sum(k8sconnect_tracker_leads{namespace={{ .Release.Namespace | quote }}}) == 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: No replica of the k8sconnect webhook is the leader.
    description: Takeovers without a known user are not recorded, and the checkpoint does not advance. The log says why no replica can acquire the Lease.
- alert: K8sconnectCertificateExpires
  expr: min(k8sconnect_certificate_expires_timestamp_seconds{namespace={{ .Release.Namespace | quote }}}) - time() < 5 * 24 * 3600
  for: 1h
  labels: {severity: warning}
  annotations:
    summary: The certificate of the k8sconnect webhook was not renewed.
    description: It expires within five days; after that, all calls fail and writes pass without warnings. See the log, or cert-manager's Certificate.
- alert: K8sconnectFaults
  expr: sum by (webhook, fault) (increase(k8sconnect_admission_faults_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: The k8sconnect webhook cannot evaluate some reviews ({{ "{{ $labels.webhook }}, {{ $labels.fault }}" }}).
    description: These writes pass without a warning. The log names the objects' kind.
- alert: K8sconnectGaps
  expr: time() - max(k8sconnect_tracker_gap_end_timestamp_seconds{namespace={{ .Release.Namespace | quote }}}) < 3600
  labels: {severity: info}
  annotations:
    summary: Some changes of field owners are unknown.
    description: The webhook was down for longer than the API server keeps changes, or its watch broke. Histories mark this period as incomplete. The log names the resources and the reason.
- alert: K8sconnectHintsDropped
  expr: sum(increase(k8sconnect_hints_dropped_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: The k8sconnect webhook sees more takeovers than it can match with their requests.
    description: They are recorded, but without their users.
- alert: K8sconnectRecordsBehind
  expr: max(k8sconnect_records_behind_seconds{namespace={{ .Release.Namespace | quote }}}) > 600
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: Some takeovers have waited for more than ten minutes to be recorded.
    description: There are more takeovers than tracking.recordsPerSecond ({{ .Values.tracking.recordsPerSecond }}) allows the webhook to record. Until it has caught up, histories show how many changes are missing.
- alert: K8sconnectRecordsNotWritten
  expr: sum(increase(k8sconnect_records_write_errors_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  for: 20m
  labels: {severity: warning}
  annotations:
    summary: Ownership records cannot be written.
    description: They wait in memory and are retried. The log names the reason, usually permissions, a quota, or an admission webhook that denies them.
- alert: K8sconnectRecordsLost
  expr: sum(increase(k8sconnect_records_lost_total{namespace={{ .Release.Namespace | quote }}}[10m])) > 0
  labels: {severity: warning}
  annotations:
    summary: Some takeovers were not recorded.
    description: Their records were refused for an hour, or did not fit into the queue. Histories mark this period as incomplete.
{{- end -}}

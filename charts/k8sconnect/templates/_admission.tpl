{{/* What both entries of the webhook configuration have in common. */}}
{{- define "k8sconnect.entry" -}}
admissionReviewVersions: [v1]
# A promise, and no choice: the cluster does not notice when the webhook is gone. No
# value is read here that may be null, for which the API server puts Fail and 10 s.
failurePolicy: Ignore
timeoutSeconds: {{ .Values.admission.timeoutSeconds | default 1 }}
sideEffects: NoneOnDryRun
{{- /* Of a custom kind, only the version that somebody writes by is of interest. */}}
matchPolicy: {{ ternary "Exact" "Equivalent" (hasKey . "exact") }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: {{ include "k8sconnect.excludedNamespaces" . }}
    # Whoever may label a namespace or an object decides whether it is asked about.
    - key: k8sconnect.io/exempt
      operator: NotIn
      values: ["true"]
{{- end -}}

{{/* The conditions of both. The second says again what the selector says, because it
     is what a control plane's life may depend on. */}}
{{- define "k8sconnect.conditions" -}}
- name: not-an-excluded-kind
  expression: >-
    !((request.kind.group == '' ? request.kind.kind : request.kind.kind + '.' + request.kind.group)
    in {{ include "k8sconnect.excludedKinds" . }})
- name: not-exempt
  expression: >-
    object.?metadata.?labels[?'k8sconnect.io/exempt'].orValue('') != 'true'
- name: not-an-excluded-namespace
  expression: >-
    !(request.?namespace.orValue('') in {{ include "k8sconnect.excludedNamespaces" . }})
{{- end -}}

{{/* A version of an object as the list of its owners. */}}
{{- define "k8sconnect.owners" -}}
{{ . }}.?metadata.?managedFields.orValue([]).map(m, [m.?manager.orValue(''), m.?operation.orValue(''), m.?subresource.orValue(''), m.?fieldsV1.orValue({})])
{{- end -}}

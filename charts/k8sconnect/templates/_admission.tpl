{{/* Fields that all entries of the webhook configuration but reach have in common. */}}
{{- define "k8sconnect.entry" -}}
admissionReviewVersions: [v1]
# Not configurable: writes must succeed if the webhook is down. The timeout has a default here,
# because for null the API server would use 10 s.
failurePolicy: Ignore
timeoutSeconds: {{ .Values.admission.timeoutSeconds | default 1 }}
sideEffects: NoneOnDryRun
{{- /* For custom resources, only the version of the request matters. */}}
matchPolicy: {{ ternary "Exact" "Equivalent" (hasKey . "exact") }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: {{ include "k8sconnect.excludedNamespaces" . }}
    # Users who may label a namespace or an object can exempt it.
    - key: k8sconnect.io/exempt
      operator: NotIn
      values: ["true"]
{{- end -}}

{{/* Conditions of all entries but reach. The last one repeats the excluded namespaces of the
     namespaceSelector, because the control plane may depend on writes in them. */}}
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

{{/* The list of an object's owners. */}}
{{- define "k8sconnect.owners" -}}
{{ . }}.?metadata.?managedFields.orValue([]).map(m, [m.?manager.orValue(''), m.?operation.orValue(''), m.?subresource.orValue(''), m.?fieldsV1.orValue({})])
{{- end -}}

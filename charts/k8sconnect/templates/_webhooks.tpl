{{/* The entries of the webhook configuration. Paths are not stated: they are the
     webhook's, and end in a secret. No caBundle either: it belongs to cert-manager, or to
     the webhook. What is not stated, an upgrade leaves as it is. */}}
{{- define "k8sconnect.webhooks" -}}
{{- if .Values.admission.ownership }}
- name: ownership.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" . | nindent 2 }}
  rules:
    # "*" names no subresources.
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*", "*/scale"], scope: "*", operations: [UPDATE]}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
    # The API server itself finds out whether any owner's fields are others than
    # before: an update by who owns the fields already costs no call. Owners change
    # their order with the time of their last write, so that order says nothing. The
    # object of scale has no owners, and one number.
    - name: owners-changed
      expression: >-
        object != null && oldObject != null &&
        request.?subResource.orValue('') == 'scale'
        ? object.?spec.?replicas.orValue(0) != oldObject.?spec.?replicas.orValue(0)
        : object != null && oldObject != null &&
        [{{ include "k8sconnect.owners" "oldObject" }}].exists(before,
        [{{ include "k8sconnect.owners" "object" }}].exists(after,
        size(before) != size(after) || after.exists(owner, !(owner in before))))
{{- end }}
{{- if .Values.admission.deprecation }}
- name: deprecation.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" (merge (dict "exact" true) .) | nindent 2 }}
  # What cannot be deprecated is matched by no rule, so that not even a condition is
  # evaluated: kinds with deprecated fields, when they are created, and versions that are
  # deprecated. (Those of the core group are of excluded kinds, or cannot be written.)
  rules:
    {{- include "k8sconnect.deprecatedRules" . | trim | nindent 4 }}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
    # Of built-in kinds: writes by a deprecated version, and what is created with a
    # deprecated field; but not what a controller makes: whoever wrote its template was
    # told. The API server itself looks for the fields, so that other creates cost no call.
    - name: maybe-deprecated
      expression: >-
        {{- include "k8sconnect.maybeDeprecated" . | nindent 8 }}
# Of custom kinds, only their CRDs know what is deprecated. The webhook writes
# the rules, one for each version that is; the chart states none, so that an upgrade
# leaves them as they are.
- name: custom.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" (merge (dict "exact" true) .) | nindent 2 }}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
{{- end }}
# By this one, the webhook finds out whether calls come back: it matches nothing but
# the dry runs that it makes for that. While they do not, it suspends the others by
# their objectSelector, of which nothing is said here.
- name: reach.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  timeoutSeconds: {{ .Values.admission.timeoutSeconds | default 1 }}
  sideEffects: None
  matchPolicy: Exact
  namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: {{ .Release.Namespace }}}
  rules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], scope: Namespaced, operations: [UPDATE]}
  matchConditions:
    - name: tried-by-the-webhook
      expression: >-
        request.?dryRun.orValue(false) && request.name == '{{ include "k8sconnect.name" . }}' &&
        object.?metadata.?annotations[?'k8sconnect.io/reach'].hasValue()
{{- end -}}

{{/* Where a field or a version of a built-in kind can be deprecated. */}}
{{- define "k8sconnect.deprecatedRules" -}}
{{- range list
  (list "" (list "persistentvolumeclaims" "persistentvolumes" "pods" "podtemplates" "replicationcontrollers" "serviceaccounts" "services"))
  (list "apps" (list "daemonsets" "deployments" "replicasets" "statefulsets"))
  (list "batch" (list "cronjobs" "jobs"))
  (list "networking.k8s.io" (list "ingresses"))
  (list "node.k8s.io" (list "runtimeclasses"))
  (list "storage.k8s.io" (list "storageclasses")) }}
- {apiGroups: [{{ first . | quote }}], apiVersions: ["*"], resources: {{ last . | toJson }}, scope: "*", operations: [CREATE]}
{{- end }}
{{- $versions := dict }}
{{- range .Files.Get "files/deprecated.yaml" | fromYamlArray }}
{{- $kind := splitList "/" . }}
{{- $_ := set $versions (first $kind) (append (get $versions (first $kind) | default list) (index $kind 1) | uniq) }}
{{- end }}
{{- range $group, $deprecated := omit $versions "" }}
- {apiGroups: [{{ $group | quote }}], apiVersions: {{ $deprecated | toJson }}, resources: ["*"], scope: "*", operations: [CREATE, UPDATE]}
{{- end }}
{{- end -}}

{{- define "k8sconnect.maybeDeprecated" -}}
request.operation == 'CREATE' &&
(size(object.?metadata.?ownerReferences.orValue([])) > 100 ||
!object.?metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))) &&
({{ .Files.Get "files/deprecated-fields.cel" | trim }}) ||
request.requestKind.group + '/' + request.requestKind.version + '/' + request.requestKind.kind
in {{ .Files.Get "files/deprecated.yaml" | fromYamlArray | toJson }}
{{- end -}}

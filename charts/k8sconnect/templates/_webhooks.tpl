{{/* The entries of the webhook configuration. The webhook sets their paths, which end in a secret, and
     cert-manager or the webhook sets their caBundle. The chart sets neither, so an upgrade does not
     change them. */}}
{{- define "k8sconnect.webhooks" -}}
{{- if .Values.admission.ownership }}
- name: ownership.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" . | nindent 2 }}
  rules:
    # "*" does not match subresources.
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*", "*/scale"], scope: "*", operations: [UPDATE]}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
    # The API server compares the owners' fields before and after the write, so an update by an owner
    # that already owns the fields causes no call. The order of owners depends on the times of their
    # last writes, so it is ignored. The Scale object has no owners, only one number. An owner that
    # rolls out a workload is asked for, too. This is no entry of its own, because the API server
    # would convert both objects once more for it.
    - name: owners-changed
      expression: >-
        object != null && oldObject != null &&
        request.?subResource.orValue('') == 'scale'
        ? object.?spec.?replicas.orValue(0) != oldObject.?spec.?replicas.orValue(0)
        : object != null && oldObject != null && (
        {{- if .Values.tracking.rollouts }}
        request.kind.group == 'apps' && request.kind.kind in ['Deployment', 'StatefulSet', 'DaemonSet'] &&
        object.spec.template != oldObject.spec.template ||
        {{- end }}
        [{{ include "k8sconnect.owners" "oldObject" }}].exists(before,
        [{{ include "k8sconnect.owners" "object" }}].exists(after,
        size(before) != size(after) || after.exists(owner, !(owner in before)))))
{{- end }}
{{- if and .Values.admission.ownership .Values.tracking.deletions }}
# Who deletes an object. A deletecollection causes a call for each object.
- name: deletion.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" . | nindent 2 }}
  rules:
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], scope: "*", operations: [DELETE]}
  matchConditions:
    # One condition, because the API server evaluates all of them, even after one is false. The
    # controller of namespaces and the garbage collector, which come first, delete thousands of objects
    # at once. A watch shows what went before them, so their deletions cause no call. Nor does a second
    # deletion of one object, such as the kubelet's.
    - name: is-asked-for
      expression: >-
        !(request.userInfo.username in ['system:serviceaccount:kube-system:namespace-controller',
        'system:serviceaccount:kube-system:generic-garbage-collector']) &&
        !oldObject.?metadata.?deletionTimestamp.hasValue() &&
        !((request.kind.group == '' ? request.kind.kind : request.kind.kind + '.' + request.kind.group)
        in {{ include "k8sconnect.excludedKinds" . }}) &&
        oldObject.?metadata.?labels[?'k8sconnect.io/exempt'].orValue('') != 'true' &&
        !(request.?namespace.orValue('') in {{ include "k8sconnect.excludedNamespaces" . }})
{{- end }}
{{- if .Values.admission.deprecation }}
- name: deprecation.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" (merge (dict "exact" true) .) | nindent 2 }}
  # The rules match only creates of kinds with deprecated fields, and deprecated versions, so that for
  # everything else not even a condition is evaluated. (Deprecated versions in the core group belong
  # to excluded kinds, or cannot be written.)
  rules:
    {{- include "k8sconnect.deprecatedRules" . | trim | nindent 4 }}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
    # For built-in kinds: writes in a deprecated version, and creates with a deprecated field, but not
    # by a controller, because the user was already warned about the template. The API server itself
    # searches for the fields, so that other creates cause no call.
    - name: maybe-deprecated
      expression: >-
        {{- include "k8sconnect.maybeDeprecated" . | nindent 8 }}
# Deprecated versions of custom resources are known only from their CRDs. The webhook writes the
# rules, one for each deprecated version; the chart sets none, so an upgrade leaves them unchanged.
- name: custom.k8sconnect.io
  clientConfig:
    service: {namespace: {{ .Release.Namespace }}, name: {{ include "k8sconnect.name" . }}, port: 443}
  {{- include "k8sconnect.entry" (merge (dict "exact" true) .) | nindent 2 }}
  matchConditions:
    {{- include "k8sconnect.conditions" . | nindent 4 }}
{{- end }}
# With this entry, the webhook tests whether calls reach it: it matches only the dry runs that the
# webhook sends for this purpose. If they get no answer, the webhook suspends the other entries with
# their objectSelector, which the chart does not set.
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

{{/* Built-in kinds that have deprecated fields or versions. */}}
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

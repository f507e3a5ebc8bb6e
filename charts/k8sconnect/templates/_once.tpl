{{/* One release a cluster: two would warn of each write twice, keep a checkpoint each, and
     take the records' CRD from each other. Helm itself refuses only the CRD,
     and not with --take-ownership or crds.install=false. Each has a policy, in either mode. Without
     a cluster (helm template), lookup finds nothing. */}}
{{- define "k8sconnect.once" -}}
{{- range (lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" "" "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $name := dig "app.kubernetes.io/instance" .metadata.name (.metadata.labels | default dict) -}}
{{- $namespace := dig "meta.helm.sh/release-namespace" $.Release.Namespace $annotations -}}
{{- if and (eq "k8sconnect" (dig "app.kubernetes.io/name" "" (.metadata.labels | default dict))) (or (ne $name $.Release.Name) (ne $namespace $.Release.Namespace)) -}}
{{- fail (printf "k8sconnect is in this cluster already, as release %q of namespace %q: upgrade that release, or uninstall it first (helm uninstall %s --namespace %s)" $name $namespace $name $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One release per cluster: two would warn about each write twice, have separate checkpoints, and
     take the CRD from each other. Helm refuses only the second CRD, and not with --take-ownership or
     crds.install=false. Each release has a policy, in either mode, by which we find it. Without a
     cluster (helm template), lookup finds nothing. */}}
{{- define "k8sconnect.once" -}}
{{- range (lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" "" "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $name := dig "app.kubernetes.io/instance" .metadata.name (.metadata.labels | default dict) -}}
{{- $namespace := dig "meta.helm.sh/release-namespace" $.Release.Namespace $annotations -}}
{{- if and (eq "k8sconnect" (dig "app.kubernetes.io/name" "" (.metadata.labels | default dict))) (or (ne $name $.Release.Name) (ne $namespace $.Release.Namespace)) -}}
{{- fail (printf "k8sconnect is already installed in this cluster, as release %q in namespace %q: upgrade that release, or uninstall it first (helm uninstall %s --namespace %s)" $name $namespace $name $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

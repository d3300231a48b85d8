{{- define "davit.name" -}}
{{- printf "%s" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "davit.account" -}}
{{- default (include "davit.name" .) .Values.serviceAccount.name -}}
{{- end -}}
{{- define "davit.selector" -}}
app.kubernetes.io/name: davit
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "davit.labels" -}}
{{ include "davit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
{{/* davit.yaml: what config says, and what api.kubernetes adds to it. */}}
{{- define "davit.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- with .Values.api.kubernetes -}}
{{- if .enabled -}}
{{- $name := printf "%s.%s" (include "davit.name" $) $.Release.Namespace -}}
{{- $api := deepCopy (default dict $config.api) -}}
{{- $_ := set $api "listen" "0.0.0.0:8790" -}}
{{- $_ := set $api "socket" "/tmp/davit.sock" -}}
{{- $_ := set $api "kubernetes" (dict "audience" .audience "cache" .cache "namespace" $.Release.Namespace) -}}
{{- $_ := set $api "hosts" (concat (list $name (printf "%s.svc" $name) (printf "%s.svc.cluster.local" $name)) (default list $api.hosts)) -}}
{{- if .tlsSecret -}}
{{- $_ := set $api "tls" (dict "cert" "/etc/davit-tls/tls.crt" "key" "/etc/davit-tls/tls.key") -}}
{{- end -}}
{{- $_ := set $config "api" $api -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

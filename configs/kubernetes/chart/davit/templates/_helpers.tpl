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

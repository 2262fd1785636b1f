{{/* Everything for Prometheus and Grafana, as far as the values ask for it. */}}
{{- define "common.monitoring" -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- fail "serviceMonitor and podMonitor are both enabled: Prometheus would scrape each Pod twice; choose one" }}
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
apiVersion: v1
kind: Service
metadata:
  # A Service's name has 63 characters at most.
  name: {{ include "common.fullname" . | trunc 55 | trimSuffix "-" }}-metrics
  namespace: {{ .Release.Namespace }}
  labels: {{- include "common.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector: {{- include "common.selectorLabels" . | nindent 4 }}
  ports:
  - {name: metrics, port: 8080, targetPort: metrics}
---
{{- end }}
{{- range $kind, $values := dict "ServiceMonitor" .Values.serviceMonitor "PodMonitor" .Values.podMonitor }}
{{- if $values.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: {{ $kind }}
metadata:
  name: {{ include "common.fullname" $ }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- merge (include "common.labels" $ | fromYaml) $values.labels | toYaml | nindent 4 }}
spec:
  selector:
    matchLabels: {{- include "common.selectorLabels" $ | nindent 6 }}
  {{ eq $kind "PodMonitor" | ternary "podMetricsEndpoints" "endpoints" }}:
  - port: metrics
    {{- with $values.interval }}
    interval: {{ . }}
    {{- end }}
---
{{- end }}
{{- end }}
{{- if .Values.prometheusRule.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "common.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- merge (include "common.labels" . | fromYaml) .Values.prometheusRule.labels | toYaml | nindent 4 }}
spec: {{- .Files.Get "alerts.yaml" | fromYaml | toYaml | nindent 2 }}
---
{{- end }}
{{- if .Values.dashboards.enabled }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "common.fullname" . }}-dashboards
  namespace: {{ .Release.Namespace }}
  labels: {{- merge (include "common.labels" . | fromYaml) .Values.dashboards.labels | toYaml | nindent 4 }}
data: {{- (.Files.Glob "dashboards/*.json").AsConfig | nindent 2 }}
{{- end }}
{{- end -}}

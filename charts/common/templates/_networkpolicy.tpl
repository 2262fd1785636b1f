{{/* The NetworkPolicy of the Pods. Takes: root; ports: ports of API servers in addition to those in the values;
   anywhere: whether it connects to any port of TCP. */}}
{{- define "common.networkPolicy" -}}
{{- $ports := default list .ports -}}
{{- $anywhere := .anywhere -}}
{{- with .root -}}
{{- if .Values.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "common.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "common.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "common.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
  - ports: [{port: metrics, protocol: TCP}]
    {{- with .Values.networkPolicy.metricsFrom }}
    from: {{- toYaml . | nindent 4 }}
    {{- end }}
  # Probes come from the node, which not every network plugin lets through by itself.
  - ports: [{port: health, protocol: TCP}]
  egress:
  - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  - ports:
    {{- range concat .Values.networkPolicy.apiServerPorts $ports | uniq }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- if $anywhere }}
  # Endpoints that it dials may have any port.
  - ports: [{protocol: TCP}]
  {{- end }}
  {{- with .Values.otlpEndpoint }}
  - ports: [{port: {{ include "common.port" . }}, protocol: TCP}]
  {{- end }}
{{- end }}
{{- end -}}
{{- end -}}

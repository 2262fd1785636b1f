{{/* Flags of this agent beside those that both agents have. */}}
{{- define "hub-agent.args" -}}
- --force-delete-wait-time={{ .Values.forceDeleteWaitTime }}
- --exclusive-imports={{ .Values.exclusiveImports }}
{{- with .Values.memberHeartbeatTTL }}
- --member-heartbeat-ttl={{ . }}
{{- end }}
{{- end -}}

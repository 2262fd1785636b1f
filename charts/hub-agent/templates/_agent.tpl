{{/* Flags that only this agent has. */}}
{{- define "hub-agent.args" -}}
- --force-delete-wait-time={{ .Values.forceDeleteWaitTime }}
- --exclusive-imports={{ .Values.exclusiveImports }}
{{- with .Values.memberHeartbeatTTL }}
- --member-heartbeat-ttl={{ . }}
{{- end }}
{{- end -}}

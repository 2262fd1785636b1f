{{/* Flags of this agent beside those that both have. */}}
{{- define "agent.args" -}}
- --force-delete-wait-time={{ .Values.forceDeleteWaitTime }}
- --exclusive-imports={{ .Values.exclusiveImports }}
{{- with .Values.memberHeartbeatTTL }}
- --member-heartbeat-ttl={{ . }}
{{- end }}
{{- end -}}

{{/* Variables of this agent. */}}
{{- define "agent.env" -}}
[]
{{- end -}}

{{/* The volume with credentials for the hub: the hub agent needs none. */}}
{{- define "agent.volume" -}}
{}
{{- end -}}

{{/* Ports of the hub's API server that this agent reaches beside its own cluster's. */}}
{{- define "agent.hubPorts" -}}
[]
{{- end -}}

{{/* Flags that only this agent has. */}}
{{- define "hub-agent.args" -}}
- --force-delete-wait-time={{ .Values.forceDeleteWaitTime }}
- --exclusive-imports={{ .Values.exclusiveImports }}
{{- /* Values of an earlier release, which are reused, have none: then the agent's own default holds. */}}
{{- if kindIs "slice" .Values.deniedNamespaces }}
- --denied-namespaces={{ join "," .Values.deniedNamespaces }}
{{- end }}
{{- with .Values.maxEndpointsPerService }}
- --max-endpoints-per-service={{ . | int }}
{{- end }}
{{- with .Values.maxServicesPerMember }}
- --max-services-per-member={{ . | int }}
{{- end }}
{{- with .Values.memberHeartbeatTTL }}
- --member-heartbeat-ttl={{ . }}
{{- end }}
{{- end -}}

{{/* "true" where the hub agent decides about drains and silent members, or nothing. Values of an earlier release, which are reused,
   have no such value. */}}
{{- define "hub-agent.decidesTraffic" -}}
{{- if dig "enabled" false (.Values.traffic | default dict) }}true{{ end -}}
{{- end -}}

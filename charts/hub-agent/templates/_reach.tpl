{{/* "true" where members report what they reach, or nothing. Values of an earlier release, which are reused, have no such value. */}}
{{- define "hub-agent.takesReach" -}}
{{- if dig "enabled" false (.Values.reachability | default dict) }}true{{ end -}}
{{- end -}}

{{/* "true" where the hub agent carries Pods between members, or nothing. Values of an earlier release, which are reused, have no
   such value. */}}
{{- define "hub-agent.carriesPods" -}}
{{- if dig "enabled" false (.Values.virtualNodes | default dict) }}true{{ end -}}
{{- end -}}

{{/* Whether the hub agent serves the API of multicluster.x-k8s.io: off, clean-up or on. YAML reads a bare `on` as true. Values
   of an earlier release, which are reused, have none. */}}
{{- define "hub-agent.multicluster" -}}
{{- $mode := dig "mode" "off" (.Values.multicluster | default dict) -}}
{{- if kindIs "bool" $mode -}}{{ ternary "on" "off" $mode }}{{- else -}}{{ $mode }}{{- end -}}
{{- end -}}

{{/* "true" where anything is installed for it, or nothing. */}}
{{- define "hub-agent.servesMulticluster" -}}
{{- if ne "off" (include "hub-agent.multicluster" .) }}true{{ end -}}
{{- end -}}

{{/* NOTES: how to wait for the agent, and where its image has to be. */}}
{{- define "common.notes.rollout" -}}
Wait for it:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ include "common.fullname" . }}
{{ if hasPrefix "localhost/" .Values.image.repository }}
The image {{ include "common.image" . }} exists only on nodes that it was loaded into. For other nodes, push the result of
`make image` to a registry and set image.repository.
{{ end }}
{{- end -}}

{{/* NOTES: definitions that others have installed. */}}
{{- define "common.notes.foreignCrds" -}}
{{- $foreign := "" -}}
{{- range .folders -}}
{{- $foreign = printf "%s%s" $foreign (include "common.foreignCrds" (dict "root" $.root "folder" .)) -}}
{{- end -}}
{{- if $foreign }}
These CustomResourceDefinitions were not changed, since others have installed them:
{{ $foreign }}

Upgrade them where they were installed, or take them over: set crds.adopt=true and run `helm upgrade --take-ownership`.
{{ end -}}
{{- end -}}

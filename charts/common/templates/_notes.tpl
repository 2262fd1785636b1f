{{/* NOTES: how to wait for the agent, and where its image has to be. */}}
{{- define "common.notes.rollout" -}}
Wait for it:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ include "common.fullname" . }}
{{ if hasPrefix "localhost/" .Values.image.repository }}
Its image is {{ include "common.image" . }}, which only nodes have that it was loaded into. For others, push
the result of `make image` to a registry and set image.repository.
{{ end }}
{{- end -}}

{{/* NOTES: definitions of files/crds that others have installed. */}}
{{- define "common.notes.foreignCrds" -}}
{{- $foreign := "" -}}
{{- if .Values.crds.install }}{{ $foreign = include "common.foreignCrds" (dict "root" . "folder" "files/crds") }}{{ end -}}
{{- if $foreign }}
These definitions were left as they are, since others have installed them:
{{ $foreign }}

See to it that they are upgraded there, or take them over: set crds.adopt=true and run
`helm upgrade --take-ownership`.
{{ end -}}
{{- end -}}

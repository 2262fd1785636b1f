{{/* Folders of the definitions that this release installs, as JSON: what nothing is set for comes with what needs it. */}}
{{- define "hub-agent.crdFolders" -}}
{{- $crds := .Values.crds -}}
{{- $folders := list -}}
{{- if $crds.install }}{{ $folders = append $folders "files/crds" }}{{ end -}}
{{- range $value, $needed := dict
  "multicluster" (include "hub-agent.servesMulticluster" .)
  "offload" (include "hub-agent.carriesPods" .)
  "traffic" (include "hub-agent.decidesTraffic" .)
  "reachability" (include "hub-agent.takesReach" .) -}}
{{- $wanted := get $crds $value -}}
{{- if kindIs "bool" $wanted | ternary $wanted $needed }}{{ $folders = append $folders (printf "files/%s-crds" $value) }}{{ end -}}
{{- end -}}
{{- if $crds.membership }}{{ $folders = append $folders "files/membership-crds" }}{{ end -}}
{{- toJson $folders -}}
{{- end -}}

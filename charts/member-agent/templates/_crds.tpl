{{/* Folders of the definitions that this release installs, as JSON. Values of an earlier release, which are reused, do not name all. */}}
{{- define "member-agent.crdFolders" -}}
{{- $crds := .Values.crds -}}
{{- $folders := list -}}
{{- if $crds.install }}{{ $folders = append $folders "files/crds" }}{{ end -}}
{{- if $crds.externalWorkloads }}{{ $folders = append $folders "files/external-workloads-crds" }}{{ end -}}
{{- range list "multicluster" "traffic" "about" -}}
{{- if get $crds . }}{{ $folders = append $folders (printf "files/%s-crds" .) }}{{ end -}}
{{- end -}}
{{- toJson $folders -}}
{{- end -}}

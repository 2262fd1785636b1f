{{/*
Rules of one role in a chart's rbac.yaml or in one of its other files of rights: rights are written only there.
Takes: root, file, kind (ClusterRole or Role); resource: only the rules for it; without: only the rules not for it.
*/}}
{{- define "common.rules" -}}
{{- $call := . -}}
{{- $rules := list -}}
{{- range splitList "\n---\n" (.root.Files.Get .file) -}}
{{- $object := fromYaml . -}}
{{- if eq (get $object "kind") $call.kind -}}
{{- range get $object "rules" -}}
{{- if and (or (not $call.resource) (has $call.resource .resources)) (not (has (default "" $call.without) .resources)) -}}
{{- $rules = append $rules . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* A ClusterRole, or a Role if there is a namespace, and its binding. Takes: root, name, namespace, rules. */}}
{{- define "common.role" -}}
{{- $prefix := empty .namespace | ternary "Cluster" "" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "common.labels" .root | nindent 4 }}
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}RoleBinding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "common.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ include "common.serviceAccountName" .root }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* Name of the objects: the release, and the chart's name unless the release's has it. */}}
{{- define "agent.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the Pods; they never change. */}}
{{- define "agent.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agent.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "agent.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fleet-networking
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "agent.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "agent.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Port of an http or https URL. */}}
{{- define "agent.port" -}}
{{- $host := regexReplaceAll "^https?://([^/]*).*$" . "${1}" -}}
{{- regexFind ":[0-9]+$" $host | trimPrefix ":" | default (hasPrefix "https:" . | ternary "443" "80") -}}
{{- end -}}

{{- define "agent.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Rules of a role in one of the files of rights, which are the only place where rights are written down.
Takes: root, file, kind (ClusterRole or Role); resource: only the rules that name it; without: only those that do not.
*/}}
{{- define "agent.rules" -}}
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

{{/* A ClusterRole or, in a namespace, a Role, and its binding. Takes: root, name, namespace, rules. */}}
{{- define "agent.role" -}}
{{- $prefix := empty .namespace | ternary "Cluster" "" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "agent.labels" .root | nindent 4 }}
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
  labels: {{- include "agent.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ include "agent.serviceAccountName" .root }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

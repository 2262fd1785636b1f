{{/*
Decides about one definition: "install" where there is none or this release's own, else who has installed it, for people.
Helm cannot look without a cluster; then all are installed. Takes: root, name.
*/}}
{{- define "agent.crdOwner" -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name -}}
{{- $own := printf "%s/%s" .root.Release.Namespace .root.Release.Name -}}
{{- if or (not $found) .root.Values.crds.adopt -}}
install
{{- else -}}
{{- $annotations := default dict $found.metadata.annotations -}}
{{- $owner := printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name") -}}
{{- if eq $owner $own -}}
install
{{- else if eq $owner "/" -}}
somebody without Helm
{{- else -}}
the Helm release {{ $owner }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The definitions in a folder of the chart that are this release's to install and to upgrade. Takes: root, folder. */}}
{{- define "agent.crds" -}}
{{- $root := .root -}}
{{- range $path, $_ := .root.Files.Glob (printf "%s/*.yaml" .folder) -}}
{{- $definition := $root.Files.Get $path | fromYaml -}}
{{- if eq (include "agent.crdOwner" (dict "root" $root "name" $definition.metadata.name)) "install" -}}
{{- $metadata := $definition.metadata -}}
{{- $annotations := merge (dict "helm.sh/resource-policy" "keep") (default dict $metadata.annotations) -}}
{{- $labels := merge (include "agent.labels" $root | fromYaml) (default dict $metadata.labels) -}}
{{- $_ := set $definition "metadata" (merge (dict "annotations" $annotations "labels" $labels) $metadata) }}
---
{{ toYaml $definition }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What NOTES say about definitions that others have installed; empty if there are none. Takes: root, folder. */}}
{{- define "agent.foreignCrds" -}}
{{- $root := .root -}}
{{- range $path, $_ := .root.Files.Glob (printf "%s/*.yaml" .folder) -}}
{{- $name := ($root.Files.Get $path | fromYaml).metadata.name -}}
{{- $owner := include "agent.crdOwner" (dict "root" $root "name" $name) -}}
{{- if ne $owner "install" }}
  {{ $name }}: {{ $owner }}
{{- end -}}
{{- end -}}
{{- end -}}

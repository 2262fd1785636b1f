{{/* A release, as common.ownerOf names it. */}}
{{- define "common.owner" -}}
{{ .Release.Namespace }}/{{ .Release.Name }}
{{- end -}}

{{/* The release that an object of the cluster belongs to: namespace/name, or "/" for none. */}}
{{- define "common.ownerOf" -}}
{{- $annotations := default dict .metadata.annotations -}}
{{ get $annotations "meta.helm.sh/release-namespace" }}/{{ get $annotations "meta.helm.sh/release-name" }}
{{- end -}}

{{/*
Who installs one CustomResourceDefinition: "install" if it does not exist or belongs to this release, else a phrase that
names its owner. Without a cluster Helm cannot look it up; then all are installed. Takes: root, name.
*/}}
{{- define "common.crdOwner" -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name -}}
{{- if or (not $found) .root.Values.crds.adopt -}}
install
{{- else -}}
{{- $owner := include "common.ownerOf" $found -}}
{{- if eq $owner (include "common.owner" .root) -}}
install
{{- else if eq $owner "/" -}}
installed without Helm
{{- else -}}
installed by the Helm release {{ $owner }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The CustomResourceDefinitions in a folder of the chart that this release installs and upgrades. They are templates, since
Helm never upgrades its own folder crds/. They are kept on uninstall: deleting them would delete every object of their
kinds, in all namespaces. Takes: root, folder.
*/}}
{{- define "common.crds" -}}
{{- $root := .root -}}
{{- range $path, $_ := .root.Files.Glob (printf "%s/*.yaml" .folder) -}}
{{- $definition := $root.Files.Get $path | fromYaml -}}
{{- if eq (include "common.crdOwner" (dict "root" $root "name" $definition.metadata.name)) "install" -}}
{{- $metadata := $definition.metadata -}}
{{- $annotations := merge (dict "helm.sh/resource-policy" "keep") (default dict $metadata.annotations) -}}
{{- $labels := merge (include "common.labels" $root | fromYaml) (default dict $metadata.labels) -}}
{{- $_ := set $definition "metadata" (merge (dict "annotations" $annotations "labels" $labels) $metadata) }}
---
{{ toYaml $definition }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The CustomResourceDefinitions of a folder that have another owner, one a line with that owner. Takes: root, folder. */}}
{{- define "common.foreignCrds" -}}
{{- $root := .root -}}
{{- range $path, $_ := .root.Files.Glob (printf "%s/*.yaml" .folder) -}}
{{- $name := ($root.Files.Get $path | fromYaml).metadata.name -}}
{{- $owner := include "common.crdOwner" (dict "root" $root "name" $name) -}}
{{- if ne $owner "install" }}
  {{ $name }}: {{ $owner }}
{{- end -}}
{{- end -}}
{{- end -}}

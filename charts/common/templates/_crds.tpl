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
names its owner, or the version that the chart's own would replace by an older one. Without a cluster Helm cannot look it up;
then all are installed. Takes: root, definition.
*/}}
{{- define "common.crdOwner" -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .definition.metadata.name -}}
{{- $newer := "" -}}
{{- if $found }}{{ $newer = include "common.newerCrd" (dict "found" $found "own" .definition) }}{{ end -}}
{{- if $newer -}}
{{ $newer }}
{{- else if or (not $found) .root.Values.crds.adopt -}}
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
What an installed definition of SIG Multicluster is, if it is newer than the chart's: its release and revision, which are in its
labels, are compared. Otherwise nothing. Takes: found, own.
*/}}
{{- define "common.newerCrd" -}}
{{- $found := default dict .found.metadata.labels -}}
{{- $own := default dict .own.metadata.labels -}}
{{- $release := "multicluster.x-k8s.io/release-version" -}}
{{- $revision := "multicluster.x-k8s.io/crd-schema-revision" -}}
{{- $there := get $found $release -}}
{{- $here := get $own $release -}}
{{- if and (hasKey $own $release) (regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+([-+].*)?$" $there) -}}
{{- $isNewer := semverCompare (printf ">%s-0" (regexFind "[0-9.]+[0-9]" $here)) $there -}}
{{- $isSame := eq (regexFind "[0-9.]+[0-9].*" $there) (regexFind "[0-9.]+[0-9].*" $here) -}}
{{- $isLater := gt (int (get $found $revision)) (int (get $own $revision)) -}}
{{- if or (and $isNewer (not $isSame)) (and $isSame $isLater) -}}
newer than the chart's: {{ $there }}, revision {{ get $found $revision | default "unknown" }}
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
{{- if eq (include "common.crdOwner" (dict "root" $root "definition" $definition)) "install" -}}
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
{{- $definition := $root.Files.Get $path | fromYaml -}}
{{- $owner := include "common.crdOwner" (dict "root" $root "definition" $definition) -}}
{{- if ne $owner "install" }}
  {{ $definition.metadata.name }}: {{ $owner }}
{{- end -}}
{{- end -}}
{{- end -}}

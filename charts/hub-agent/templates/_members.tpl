{{/*
Whether a member gets this quota: "true", or nothing. A quota of this chart stays.

A new one is made where the hub serves its kinds already: the controller that counts objects learns of new kinds after a while,
and until then the API server rejects what it cannot count. And where at most half of it is in use, so that an upgrade rejects
nothing that members are about to write. Without a cluster, as in `helm template`, nothing is in use, and the kinds are those of
`--api-versions`.
*/}}
{{- define "hub-agent.appliesQuota" -}}
{{- $capabilities := index . 0 }}
{{- $quota := index . 1 }}
{{- $namespace := $quota.metadata.namespace }}
{{- $present := lookup "v1" "ResourceQuota" $namespace $quota.metadata.name }}
{{- if $present }}
{{- if eq "Helm" (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $present) }}true{{ end }}
{{- else if $capabilities.APIVersions.Has "networking.fleet.azure.com/v1alpha1/InternalServiceExport" }}
{{- $fits := true }}
{{- range $kind, $resource := dict "InternalServiceExport" "internalserviceexports" "InternalServiceImport" "internalserviceimports" "EndpointSliceExport" "endpointsliceexports" }}
{{- $there := lookup "networking.fleet.azure.com/v1alpha1" $kind $namespace "" }}
{{- $hard := index $quota.spec.hard (printf "count/%s.networking.fleet.azure.com" $resource) | int64 }}
{{- if gt (mul 2 (len ($there.items | default list))) $hard }}
{{- $fits = false }}
{{- end }}
{{- end }}
{{- if $fits }}true{{ end }}
{{- end }}
{{- end -}}

{{/*
Whether a member has a Secret with a token that never expires: "true", or nothing. One of this release that is there stays unless the
value is bound, since a member uses it; one of another maker, such as fleetctl, stays anyway. Without a cluster, as in
`helm template`, it is not known whether there is one.
*/}}
{{- define "hub-agent.longLivedToken" -}}
{{- $root := index . 0 }}
{{- $tokens := $root.Values.memberTokens | default "" }}
{{- $found := lookup "v1" "Secret" (printf "fleet-member-%s" (index . 1)) "member-agent-token" }}
{{- if $found }}
{{- if and (ne $tokens "bound") (eq (include "common.ownerOf" $found) (include "common.owner" $root)) }}true{{ end }}
{{- else if eq $tokens "long-lived" }}true
{{- else if not (or $tokens (lookup "v1" "Namespace" "" "kube-system")) }}
{{- fail "memberTokens is not set, and without access to the cluster it is not known which members use a token that never expires: set it to long-lived if this chart has created their tokens before, otherwise to bound" }}
{{- end }}
{{- end -}}

{{/* Of a list of members each name once, the first one, as JSON. */}}
{{- define "hub-agent.distinct" -}}
{{- $names := dict -}}
{{- $members := list -}}
{{- range . -}}
{{- if not (hasKey $names .name) -}}
{{- $_ := set $names .name true -}}
{{- $members = append $members . -}}
{{- end -}}
{{- end -}}
{{- toJson $members -}}
{{- end }}

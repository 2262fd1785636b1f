{{/*
Sizes of objects and of parts of them, in bytes: the length of the text that CEL makes of a value is about that of its JSON.
*/}}

{{/* Bytes of a value, as CEL. */}}
{{- define "policies.bytes" -}}
size(bytes('%s'.format([{{ . }}])))
{{- end }}

{{/*
What agents keep of the metadata of an object that a member writes. Agents, those of the original too, write a few short entries each.
What is as it was comes first: that is found out fastest, and an object of before there was a bound can be changed in other parts.
*/}}
{{- define "policies.smallMetadata" -}}
{{- $parts := "['labels', 'annotations', 'finalizers', 'ownerReferences']" -}}
(oldObject != null && {{ $parts }}.all(it, dyn(object.metadata)[?it] == dyn(oldObject.metadata)[?it])
|| size(object.metadata.?labels.orValue({})) <= 32 && size(object.metadata.?annotations.orValue({})) <= 32
&& size(object.metadata.?finalizers.orValue([])) <= 8 && size(object.metadata.?ownerReferences.orValue([])) <= 4
&& {{ include "policies.bytes" (printf "%s.map(it, dyn(object.metadata)[?it].orValue(''))" $parts) }} <= 4096)
{{- end }}

{{/* One name for each field that a writer has set, once for each writer: an exported Pod can have some thousand. */}}
{{- define "policies.smallManagedFields" -}}
{{- $fields := "metadata.?managedFields.orValue([])" -}}
(oldObject != null && object.{{ $fields }}.map(it, it.?fieldsV1) == oldObject.{{ $fields }}.map(it, it.?fieldsV1)
&& object.{{ $fields }}.map(it, it.?apiVersion) == oldObject.{{ $fields }}.map(it, it.?apiVersion)
|| {{ include "policies.bytes" (print "object." $fields) }}
<= {{ if include "hub-agent.carriesPods" . }}(request.resource.resource in ['podexports', 'podimports'] ? 131072 : 8192){{ else }}8192{{ end }})
{{- end }}

{{/*
Bounds of parts as a whole whose fields together could have far more. A Pod is what an executor can offer to take at most
(maxPodObjectBytes), and the spec beside it has 512 KiB of config maps. What an executor reports is 4 KiB, and was more in earlier
releases.
*/}}
{{- define "policies.sizes" -}}
{{- if include "hub-agent.servesMulticluster" . }}
- {resource: exportedservices, path: spec, max: 32768}
{{- end }}
{{- if include "hub-agent.carriesPods" . }}
- {resource: podexports, path: spec.pod, max: 262144}
- {resource: podexports, path: spec, max: 917504}
- {resource: podimports, path: status, max: 16384}
{{- end }}
{{- end }}

{{/* Whether a part of an object is within its bound, or is as it was. */}}
{{- define "policies.smallPart" -}}
{{- $part := printf ".%s" .path | replace "." ".?" -}}
(request.resource.resource != '{{ .resource }}'
|| oldObject != null && dyn(object){{ $part }} == dyn(oldObject){{ $part }}
|| {{ include "policies.bytes" (printf "dyn(object)%s.orValue('')" $part) }} <= {{ .max }})
{{- end }}

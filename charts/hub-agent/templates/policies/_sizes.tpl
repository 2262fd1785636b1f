{{/*
Sizes of objects and of parts of them, in bytes: the length of the text that CEL makes of a value is about that of its JSON.
*/}}

{{/* Bytes of a value, as CEL. */}}
{{- define "policies.bytes" -}}
size(bytes('%s'.format([{{ . }}])))
{{- end }}

{{/*
What agents keep of the metadata of an object that a member writes. Agents, those of the original too, write a few short entries each.
What is as it was comes first: that is found out fastest, and an object of before there was a bound can be changed in other parts. What
it has too much of may become less, and nothing else more meanwhile.
*/}}
{{- define "policies.smallMetadata" -}}
{{- $bounds := list (list "labels" "{}" 32) (list "annotations" "{}" 32) (list "finalizers" "[]" 8) (list "ownerReferences" "[]" 4) -}}
{{- $parts := "['labels', 'annotations', 'finalizers', 'ownerReferences']" -}}
{{- $bytes := include "policies.bytes" (printf "%s.map(it, dyn(object.metadata)[?it].orValue(''))" $parts) -}}
(oldObject != null && {{ $parts }}.all(it, dyn(object.metadata)[?it] == dyn(oldObject.metadata)[?it])
||
{{- range $bounds }}
{{- $size := printf "size(object.metadata.?%s.orValue(%s))" (index . 0) (index . 1) }}
({{ $size }} <= {{ index . 2 }} || oldObject != null && {{ $size }} <= {{ replace "object." "oldObject." $size }})
&&
{{- end }}
({{ $bytes }} <= 4096 || oldObject != null && {{ $bytes }} <= {{ replace "object." "oldObject." $bytes }}))
{{- end }}

{{/*
One name for each field that a writer has set, once for each writer: an exported Pod can have some thousand, and its import those that the
hub agent has copied. Namespaces of an offer and keys of maps are fields, too, and so are the clusters that the hub agent reports of an
import.
*/}}
{{- define "policies.smallManagedFields" -}}
{{- $fields := "metadata.?managedFields.orValue([])" -}}
(oldObject != null && object.{{ $fields }}.map(it, it.?fieldsV1) == oldObject.{{ $fields }}.map(it, it.?fieldsV1)
&& object.{{ $fields }}.map(it, it.?apiVersion) == oldObject.{{ $fields }}.map(it, it.?apiVersion)
|| {{ include "policies.bytes" (print "object." $fields) }}
<= ({{ range $resource, $bytes := include "policies.managedBytes" . | fromYaml -}}
request.resource.resource == '{{ $resource }}' ? {{ int64 $bytes }} : {{ end }}8192))
{{- end }}

{{/* Bytes of managed fields, of resources that can have more than others. */}}
{{- define "policies.managedBytes" -}}
internalserviceimports: 32768
{{- if include "hub-agent.servesMulticluster" . }}
exportedservices: 32768
{{- end }}
{{- if include "hub-agent.carriesPods" . }}
offloadoffers: 32768
virtualnodes: 32768
podexports: 131072
podimports: 262144
{{- end }}
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

{{/* Whether a part of an object is within its bound, or is as it was, or smaller. */}}
{{- define "policies.smallPart" -}}
{{- $part := printf ".%s" .path | replace "." ".?" -}}
(request.resource.resource != '{{ .resource }}'
|| oldObject != null && dyn(object){{ $part }} == dyn(oldObject){{ $part }}
|| {{ include "policies.bytes" (printf "dyn(object)%s.orValue('')" $part) }} <= {{ .max }}
|| oldObject != null && {{ include "policies.bytes" (printf "dyn(object)%s.orValue('')" $part) }}
< {{ include "policies.bytes" (printf "dyn(oldObject)%s.orValue('')" $part) }})
{{- end }}

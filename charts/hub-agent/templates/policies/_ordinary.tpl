{{/*
The quick look at an EndpointSliceExport. A member writes one with each change of its endpoints, so these writes are most of what a
hub's API server does. What is evidently within P1 to P4, P7 and P8 needs no further check: if this holds, kube-apiserver skips
the policy before it has prepared variables, messages and the namespace for it. What this does not recognize is no violation; then
the rules decide. So it may be stricter than the rules, and never less strict; it reads the same bounds and ranges.

As CEL without variables, which match conditions do not have, and such that it evaluates to true or false whatever the object is:
with `failurePolicy: Ignore` an error here would let the write pass.
*/}}
{{- define "policies.ordinary" -}}
{{- $slice := "object.spec.endpointSliceReference" -}}
{{- $service := "object.spec.ownerServiceReference" -}}
request.namespace == '{{ include "policies.prefix" . }}' + {{ $slice }}.clusterId
&& {{ $slice }}.namespacedName.split('/') == [{{ $slice }}.namespace, {{ $slice }}.name]
&& {{ $service }}.namespacedName.split('/') == [{{ $service }}.namespace, {{ $service }}.name]
&& {{ $service }}.namespace == {{ $slice }}.namespace
&& (oldObject == null
  || object.spec.?ownerServiceReference == oldObject.?spec.?ownerServiceReference
  {{- range list "namespace" "name" "uid" }}
  && object.spec.?endpointSliceReference.?{{ . }} == oldObject.?spec.?endpointSliceReference.?{{ . }}
  {{- end }})
&& {{ include "policies.short" (dict "limits" .limits "in" $slice "of" "spec.endpointSliceReference"
  "fields" (list "kind" "namespace")) }}
&& {{ include "policies.short" (dict "limits" .limits "in" $slice "of" "spec.endpointSliceReference"
  "fields" (list "name" "uid" "resourceVersion" "?apiVersion.orValue('')")) }}
&& {{ include "policies.short" (dict "limits" .limits "in" $service "of" "spec.ownerServiceReference" "fields" (list "name")) }}
&& size(object.spec.?ports.orValue([])) <= {{ get .limits "spec.ports" }}
&& object.spec.?ports.orValue([]).all(it, {{ include "policies.short" (dict "limits" .limits "in" "it" "of" "spec.ports[]"
  "fields" (list "?name.orValue('')" "?protocol.orValue('')" "?appProtocol.orValue('')")) }})
&& size({{ include "policies.allEndpoints" . }}) <= {{ min 100 (get .limits "spec.endpoints") }}
{{- range .root.Values.policies.reservedCidrs }}
&& isCIDR('{{ . }}')
{{- end }}
&& (object.spec.addressType == 'IPv4' && {{ include "policies.ordinaryEndpoints" (dict "kind" . "pattern" "policies.ipv4") }}
  || object.spec.addressType == 'IPv6' && {{ include "policies.ordinaryEndpoints" (dict "kind" . "pattern" "policies.ipv6") }})
{{- end }}

{{/* Whether each endpoint has one address, of a pattern and outside of what is reserved, as CEL. */}}
{{- define "policies.ordinaryEndpoints" -}}
{{ include "policies.allEndpoints" . }}.all(it, it.addresses.join(',').matches('{{ include .pattern . }}')
  {{- if eq .pattern "policies.ipv6" }}
  && isIP(it.addresses[0]) && ip.isCanonical(it.addresses[0])
  {{- end }}
  && {{ include "policies.short" (dict "limits" .kind.limits "in" "it" "of" "spec.endpoints[]"
    "fields" (list "?hostname.orValue('')" "?zone.orValue('')" "?executor.orValue('')")) }}
  && !(it.addresses[0] in {{ include "policies.cloudServices" . }})
  {{- range .kind.root.Values.policies.reservedCidrs }}
  && !cidr('{{ . }}').containsIP(it.addresses[0])
  {{- end }})
{{- end }}

{{/* All endpoints of a slice, ready and draining, as CEL. To Kubernetes' check of types the two lists are of two types. */}}
{{- define "policies.allEndpoints" -}}
(dyn(object.spec.endpoints) + dyn(object.spec.?drainingEndpoints.orValue([])))
{{- end }}

{{/*
Whether some texts of `in`, whose path is `of`, are together no longer than the shortest of their bounds, as CEL: one comparison in
place of one each.
*/}}
{{- define "policies.short" -}}
{{- $least := 0 -}}
{{- $texts := list -}}
{{- range .fields -}}
{{- $field := index (splitList "." (trimPrefix "?" .)) 0 -}}
{{- $max := get $.limits (printf "%s.%s" $.of $field) -}}
{{- $least = ternary $max (min $least $max) (eq (int $least) 0) -}}
{{- $texts = append $texts (printf "%s.%s" $.in .) -}}
{{- end -}}
size({{ join " + " $texts }}) <= {{ $least }}
{{- end }}

{{/*
One IPv4 address as P3 wants it that is evidently none that P4 reserves: not of 0.0.0.0/8, 127.0.0.0/8, 169.0.0.0/8 or 224.0.0.0/3.
One IPv6 address of 2000::/3 or fd00::/8, if it is an address. A list of two has a comma.
*/}}
{{- define "policies.ipv4" -}}
^([1-9][0-9]?|1[013-57-9][0-9]|12[0-689]|16[0-8]|2[01][0-9]|22[0-3])([.](25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}$
{{- end }}
{{- define "policies.ipv6" -}}
^([23][0-9a-f]{3}|fd[0-9a-f]{2}):[0-9a-f:]+$
{{- end }}

{{/* Whether the member policy evidently lists the Service that `service` names, as CEL without variables. */}}
{{- define "policies.listed" -}}
(params.?data.?{{ .list }}.orValue('') == '*' || params.?data.?{{ .list }}.orValue('').split(',').exists(it, it.trim() == '*'
  || it.trim() == {{ .service }}.namespace + '/*' || it.trim() == {{ .service }}.namespace + '/' + {{ .service }}.name))
{{- end }}

{{/*
Whether all ranges of the member policy are ranges, and one of the first ten contains all addresses of the slice, each of an endpoint
of its own, as CEL without variables. What follows the tenth comma is no range.
*/}}
{{- define "policies.inOneRange" -}}
size({{ include "policies.allEndpoints" . }}) <= 100
&& params.?data.?cidrs.orValue('').split(',').all(it, it.trim() == '' || isCIDR(it.trim()))
&& params.?data.?cidrs.orValue('').split(',', 11).map(it, it.trim()).exists(range, isCIDR(range)
  && {{ include "policies.allEndpoints" . }}.all(it, isIP(it.addresses.join(',')) && cidr(range).containsIP(it.addresses[0])))
{{- end }}

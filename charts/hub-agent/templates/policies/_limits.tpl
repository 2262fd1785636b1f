{{/*
P2 What members write is no larger than agents accept it to be: the bounds in files/limits.yaml. What is larger already
   may stay so: only what changes is checked.
*/}}
{{- define "policies.limits.variables" -}}
{{- $limits := .limits }}
{{- if eq .resource "internalserviceexports" -}}
- name: numbers
  expression: object.spec.ports.map(it, it.?protocol.orValue('TCP') + string(it.port))
- name: names
  expression: object.spec.ports.map(it, it.?name.orValue('')).filter(it, it != '')
{{ end -}}
- name: excess
  expression: >-
    [
    {{- range .bounds }}
    {{ include "policies.within" (dict "path" .path "unit" .unit "limits" $limits) }}
    || {{ include "policies.unchanged" .path }}
    ? '' : '{{ .path }} has more than {{ get $limits .path }} {{ .unit }}',
    {{- end }}
    {{- if eq .resource "internalserviceexports" }}
    {{- range $what, $list := dict "protocol and number" "numbers" "name" "names" }}
    size(object.spec.ports) > {{ get $limits "spec.ports" }}
    || variables.{{ $list }}.all(it, variables.{{ $list }}.indexOf(it) == variables.{{ $list }}.lastIndexOf(it))
    || {{ include "policies.unchanged" "spec.ports" }}
    ? '' : 'two entries of spec.ports have the same {{ $what }}',
    {{- end }}
    {{- end }}
    {{- if ne .resource "internalserviceimports" }}
    {{ include "policies.bytes" "object.spec.?ports.orValue([])" }} <= 32768
    || {{ include "policies.unchanged" "spec.ports" }}
    ? '' : 'spec.ports has more than 32768 bytes',
    {{- end }}
    {{- if .slices }}
    {{- $all := include "policies.allEndpoints" . }}
    {{- $same := printf "%s && %s" (include "policies.unchanged" "spec.endpoints") (include "policies.unchanged" "spec.drainingEndpoints") }}
    {{ $all }}.map(it, size(it.addresses)).sum() <= {{ mul 2 (get $limits "spec.endpoints") }}
    || {{ $same }}
    ? '' : 'spec.endpoints and spec.drainingEndpoints have more than {{ mul 2 (get $limits "spec.endpoints") }} addresses',
    {{ include "policies.bytes" $all }} <= 262144
    || {{ $same }}
    ? '' : 'spec.endpoints and spec.drainingEndpoints have more than 262144 bytes',
    size(object.spec.endpoints) + size(object.spec.?drainingEndpoints.orValue([])) <= {{ get $limits "spec.endpoints" }}
    || {{ $same }}
    ? '' : 'spec.endpoints and spec.drainingEndpoints have more than {{ get $limits "spec.endpoints" }} entries',
    {{- end }}
    ].filter(text, text != '')
{{- end }}

{{- define "policies.limits" }}
{{- if .root.Values.policies.rules.P2 }}
- expression: "!variables.changed || size(variables.excess) == 0 || variables.admin"
  message: "P2: a list or a text is longer than its bound, or two ports are the same"
  messageExpression: "'P2: ' + variables.excess.join('; ')"
{{- end }}
{{- end }}

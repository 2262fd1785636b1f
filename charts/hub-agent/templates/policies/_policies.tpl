{{/*
What the admission policies have in common. `rule` P1 to P18 are those of docs/security.md; every message begins with
the rule it is about.
*/}}

{{/* Whether one of these rules is enabled: (list $ "P1" "P7"). Values of an earlier release, which are reused, lack later rules. */}}
{{- define "policies.wants" -}}
{{- $root := first . -}}
{{- if $root.Values.policies.enabled -}}
{{- range rest . -}}{{- if dig . true ($root.Values.policies.rules | default dict) -}}yes{{- end -}}{{- end -}}
{{- end -}}
{{- end }}

{{/*
Whether the hub agent withdraws what a member policy does not list: where P6 would reject it, unless the values say otherwise.
Values of an earlier release, which are reused, say nothing.
*/}}
{{- define "policies.enforced" -}}
{{- $wanted := or (not (kindIs "bool" .Values.policies.withdraw)) .Values.policies.withdraw -}}
{{- if and $wanted (include "policies.wants" (list . "P6")) (has "Deny" .Values.policies.validationActions) -}}
true
{{- else -}}
false
{{- end -}}
{{- end }}

{{/* The annotation of the policies on members that has the choice of the release, for the next upgrade. */}}
{{- define "policies.strictMark" -}}networking.fleet.azure.com/strict{{- end }}

{{/*
Whether the hub rejects what is new of members without a member policy: "true" or "false".

What the values say counts. Without that, a new installation does, and an upgrade does what the hub does already. A release
whose policies lack the mark is older than the choice, and its members may lack policies: the upgrade stops. Where no
cluster is seen, as in `helm template` or a dry run on the client, there is neither a mark nor a Deployment of the release.
*/}}
{{- define "policies.strict" -}}
{{- $chosen := .Values.policies.strict -}}
{{- if kindIs "bool" $chosen -}}
{{- $chosen -}}
{{- else if not .Release.IsUpgrade -}}
true
{{- else -}}
{{- $policy := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" "" (include "policies.name" (list . "member-endpointsliceexports")) -}}
{{- $mark := dig "metadata" "annotations" (include "policies.strictMark" .) "" $policy -}}
{{- $release := lookup "apps/v1" "Deployment" .Release.Namespace (include "common.fullname" .) -}}
{{- if $mark -}}
{{- $mark -}}
{{- else if or $policy $release -}}
{{- fail "policies.strict is not set, and this release is older than the choice: set policies.strict=true, and the hub rejects new exports and imports of members without a member policy; with policies.strict=false it accepts them, as before. docs/upgrade.md#strict-policies has the steps" -}}
{{- else -}}
true
{{- end -}}
{{- end -}}
{{- end }}

{{/* The full name of a policy: (list $ "imports"). */}}
{{- define "policies.name" -}}
{{ last . }}.networking.fleet.azure.com
{{- end }}

{{/* Kubernetes' own controllers that delete the objects of deleted namespaces and owners, as CEL. */}}
{{- define "policies.controllers" -}}
{{- list "system:serviceaccount:kube-system:namespace-controller" "system:serviceaccount:kube-system:generic-garbage-collector" "system:kube-controller-manager" | toJson -}}
{{- end }}

{{/* Users with the hub agent's rights: the hub agent, those of the values, and Kubernetes' controllers, as CEL. */}}
{{- define "policies.hub" -}}
{{- $agent := printf "system:serviceaccount:%s:%s" .Release.Namespace (include "common.serviceAccountName" .) -}}
{{- concat (list $agent) .Values.policies.hubUsers (include "policies.controllers" . | fromJsonArray) | uniq | toJson -}}
{{- end }}

{{/*
Exempts users who may change the policies. Evaluated only when a rule is violated, because the authorization check takes
longer than all rules together.
*/}}
{{- define "policies.admin" -}}
- name: admin
  expression: >-
    authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies')
    .check('update').allowed()
{{- end }}

{{/* Whether a user with the hub agent's rights writes, as CEL. */}}
{{- define "policies.byTheHub" -}}
request.userInfo.username in {{ include "policies.hub" . }}
{{- end }}

{{/* All users except those. */}}
{{- define "policies.notTheHub" -}}
- name: not-the-hub
  expression: >-
    !({{ include "policies.byTheHub" . }})
{{- end }}

{{/* Skips updates that do not change the spec, such as those of finalizers. */}}
{{- define "policies.changed" -}}
- name: changed
  expression: oldObject == null || object.spec != oldObject.spec
{{- end }}

{{/* The head of a policy: (list $ "imports"). */}}
{{- define "policies.head" -}}
{{- $root := first . -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "policies.name" . }}
  labels:
    {{- include "common.labels" $root | nindent 4 }}
{{- end }}

{{/* A binding of a policy: (list $ "imports"), and "strict" for a second one of another name. */}}
{{- define "policies.binding" -}}
{{- $root := first . -}}
{{- $policy := include "policies.name" (list $root (index . 1)) -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ join "." (append (slice . 2) $policy) }}
  labels:
    {{- include "common.labels" $root | nindent 4 }}
spec:
  policyName: {{ $policy }}
  validationActions: {{ $root.Values.policies.validationActions | toJson }}
{{- end }}

{{/* Which of the chart's members get no member policy of the chart, where the hub accepts nothing new without one. */}}
{{- define "policies.notes" -}}
{{- if include "policies.wants" (list . "P5" "P6") }}
{{- if eq "true" (include "policies.strict" .) }}
{{- $lacking := list }}
{{- range .Values.members }}
{{- if not (hasKey $.Values.policies.members .name) }}
{{- $lacking = append $lacking .name }}
{{- end }}
{{- end }}
{{- with $lacking }}
The hub is strict (policies.strict): it accepts new exports and imports of {{ join ", " . }} only with a member policy for each,
in the value policies.members or by hand: docs/security.md#member-policies
{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The kinds that members write, and the field of each with its reference. */}}
{{- define "policies.exported" -}}
endpointsliceexports: endpointSliceReference
internalserviceexports: serviceReference
internalserviceimports: serviceImportReference
{{- end }}

{{/* Prefix of the members' namespaces. */}}
{{- define "policies.prefix" -}}fleet-member-{{- end }}

{{/* The addresses of every endpoint of a slice, ready and draining. */}}
{{- define "policies.addresses" -}}
- name: addresses
  expression: >-
    object.spec.endpoints.map(endpoint, endpoint.addresses)
    + (has(object.spec.drainingEndpoints) ? object.spec.drainingEndpoints.map(endpoint, endpoint.addresses) : [])
{{- end }}

{{/* Ranges that must not contain endpoints of members, as CEL. */}}
{{- define "policies.reserved" -}}
{{- $fixed := list "0.0.0.0/8" "127.0.0.0/8" "169.254.0.0/16" "224.0.0.0/4" "240.0.0.0/4" "::/128" "::1/128" "fe80::/10" "ff00::/8" -}}
{{- concat $fixed .Values.policies.reservedCidrs | toJson -}}
{{- end }}

{{/*
Addresses at which clouds serve a machine's own credentials and settings: Azure, Alibaba, Oracle; EC2 and GCE over IPv6. The
IPv4 ones of the others are link-local. A member policy may have a range around one of them, so P13 does not know them. As CEL,
in canonical form.
*/}}
{{- define "policies.cloudServices" -}}
{{- list "168.63.129.16" "100.100.100.200" "192.0.0.192" "fd00:ec2::254" "fd20:ce::254" | toJson -}}
{{- end }}

{{/*
Whether a field is within its bound, as CEL: (dict "path" "spec.ports[].name" "unit" "characters" "limits" $limits), where
`limits` are the bounds by path. A list on the way that exceeds its own bound is not searched. For what is in a list it
includes itself: `in` is the entry then, `of` the path of the list.
*/}}
{{- define "policies.within" -}}
{{- $in := .in | default "object" -}}
{{- $of := .of | default "" -}}
{{- $max := get .limits (print $of .path) -}}
{{- $parts := splitn "[]" 2 .path -}}
{{- $field := regexReplaceAll "[.]([A-Za-z]+)$" (printf "%s.%s" $in (trimPrefix "." $parts._0)) ".?${1}" -}}
{{- if not .path -}}
size({{ $in }}) <= {{ $max }}
{{- else if contains "[]" .path -}}
{{- $list := print $of $parts._0 -}}
{{- $entry := ternary "it" "its" (eq $in "object") -}}
(size({{ $field }}.orValue([])) > {{ get .limits $list }} || {{ $field }}.orValue([]).all({{ $entry }}, {{ include "policies.within"
  (dict "in" $entry "of" (print $list "[]") "path" $parts._1 "limits" .limits "unit" .unit) }}))
{{- else if eq .unit "entries" -}}
size({{ $field }}.orValue([])) <= {{ $max }}
{{- else -}}
size(string({{ $field }}.orValue(''))) <= {{ $max }}
{{- end -}}
{{- end }}

{{/* Whether the field at a path, or the list that it is in, is as it was before, as CEL. */}}
{{- define "policies.unchanged" -}}
{{- $field := (splitn "[]" 2 . )._0 | replace "spec." "spec.?" -}}
oldObject != null && object.{{ $field }} == oldObject.{{ $field }}
{{- end }}

{{/*
What the admission policies have in common. `rule` P1 to P13 are those of docs/security.md; every message begins with
the rule it is about.
*/}}

{{/* Whether one of these rules is enabled: (list $ "P1" "P7"). */}}
{{- define "policies.wants" -}}
{{- $root := first . -}}
{{- if $root.Values.policies.enabled -}}
{{- range rest . -}}{{- if index $root.Values.policies.rules . -}}yes{{- end -}}{{- end -}}
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

{{/* Users with the hub agent's rights: the hub agent, here and in the original, and Kubernetes' controllers, as CEL. */}}
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

{{/* All users except those with the hub agent's rights. */}}
{{- define "policies.notTheHub" -}}
- name: not-the-hub
  expression: >-
    !(request.userInfo.username in {{ include "policies.hub" . }})
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

{{/*
What the admission policies have in common. `rule` P1 to P13 are those of docs/security.md; every message begins with
the rule it is about.
*/}}

{{/* Whether one of these rules is wanted: (list $ "P1" "P7"). */}}
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

{{/* Kubernetes' own controllers that empty namespaces and collect what nobody owns, as CEL. */}}
{{- define "policies.controllers" -}}
{{- list "system:serviceaccount:kube-system:namespace-controller" "system:serviceaccount:kube-system:generic-garbage-collector" "system:kube-controller-manager" | toJson -}}
{{- end }}

{{/* Who speaks for the hub: its agent, here and in the original, and Kubernetes' controllers. As CEL. */}}
{{- define "policies.hub" -}}
{{- $agent := printf "system:serviceaccount:%s:%s" .Release.Namespace (include "common.serviceAccountName" .) -}}
{{- concat (list $agent) .Values.policies.hubUsers (include "policies.controllers" . | fromJsonArray) | uniq | toJson -}}
{{- end }}

{{/*
Whoever could take the policies away need not obey them. Asked only when a rule is broken, because asking takes
longer than all rules together.
*/}}
{{- define "policies.admin" -}}
- name: admin
  expression: >-
    authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies')
    .check('update').allowed()
{{- end }}

{{/* Everybody but those who speak for the hub. */}}
{{- define "policies.notTheHub" -}}
- name: not-the-hub
  expression: >-
    !(request.userInfo.username in {{ include "policies.hub" . }})
{{- end }}

{{/* What is checked once need not be checked again: finalizers come and go on every object. */}}
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

{{/* The kinds that members write, and which field of theirs says what they are about. */}}
{{- define "policies.exported" -}}
endpointsliceexports: endpointSliceReference
internalserviceexports: serviceReference
internalserviceimports: serviceImportReference
{{- end }}

{{/* What a namespace of a member begins with. */}}
{{- define "policies.prefix" -}}fleet-member-{{- end }}

{{/* The addresses of every endpoint of a slice, ready and draining. */}}
{{- define "policies.addresses" -}}
- name: addresses
  expression: >-
    object.spec.endpoints.map(endpoint, endpoint.addresses)
    + (has(object.spec.drainingEndpoints) ? object.spec.drainingEndpoints.map(endpoint, endpoint.addresses) : [])
{{- end }}

{{/* Ranges in which no endpoint of a member is, as CEL. */}}
{{- define "policies.reserved" -}}
{{- $fixed := list "0.0.0.0/8" "127.0.0.0/8" "169.254.0.0/16" "224.0.0.0/4" "240.0.0.0/4" "::/128" "::1/128" "fe80::/10" "ff00::/8" -}}
{{- concat $fixed .Values.policies.reservedCidrs | toJson -}}
{{- end }}

{{/*
What the admission policies have in common. They hold the agent to the writes that it makes: rights cannot distinguish one Service of a
namespace from the others. The rules A1 to A7 are those of docs/security.md; every message begins with the rule it is about.
*/}}

{{/* The full name of a policy: (list $ "services"). */}}
{{- define "policies.name" -}}
{{ last . }}.{{ include "common.fullname" (first .) }}.networking.fleet.azure.com
{{- end }}

{{/* The head of a policy: (list $ "services"). */}}
{{- define "policies.head" -}}
{{- $root := first . -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "policies.name" . }}
  labels:
    {{- include "common.labels" $root | nindent 4 }}
{{- end }}

{{/* The binding of a policy: (list $ "services"). */}}
{{- define "policies.binding" -}}
{{- $root := first . -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "policies.name" . }}
  labels:
    {{- include "common.labels" $root | nindent 4 }}
spec:
  policyName: {{ include "policies.name" . }}
  validationActions: {{ $root.Values.policies.validationActions | toJson }}
{{- end }}

{{/* The user as which the agent writes. */}}
{{- define "policies.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "common.serviceAccountName" . }}
{{- end }}

{{/* Only the agent is held to the rules. */}}
{{- define "policies.agent" -}}
- name: the-agent
  expression: >-
    request.userInfo.username == '{{ include "policies.user" . }}'
{{- end }}

{{/* Whether a Service is in a user's namespace and has the name of a derived one of multicluster.x-k8s.io, as CEL. */}}
{{- define "policies.ofStandard" -}}
request.namespace != '{{ .Values.fleetSystemNamespace }}' && request.name.startsWith('derived-')
{{- end }}

{{/* Metadata before and after, where there is none of it empty. */}}
{{- define "policies.metadata" -}}
- name: creates
  expression: request.operation == 'CREATE'
- name: writes
  expression: request.operation != 'DELETE'
- name: oldLabels
  expression: "oldObject != null ? oldObject.metadata.?labels.orValue({}) : {}"
- name: oldAnnotations
  expression: "oldObject != null ? oldObject.metadata.?annotations.orValue({}) : {}"
- name: labels
  expression: "object != null ? object.metadata.?labels.orValue({}) : {}"
- name: annotations
  expression: "object != null ? object.metadata.?annotations.orValue({}) : {}"
{{- end }}

{{/* Owners and finalizers before and after, where there is none of it empty. */}}
{{- define "policies.owners" -}}
- name: oldOwners
  expression: "oldObject != null ? oldObject.metadata.?ownerReferences.orValue([]) : []"
- name: owners
  expression: "object != null ? object.metadata.?ownerReferences.orValue([]) : []"
- name: oldFinalizers
  expression: "oldObject != null ? oldObject.metadata.?finalizers.orValue([]) : []"
- name: finalizers
  expression: "object != null ? object.metadata.?finalizers.orValue([]) : []"
{{- end }}

{{/* Whether labels or annotations change only where the condition on `key` holds, as CEL: (list "labels" "condition"). */}}
{{- define "policies.onlyOwn" -}}
{{- $old := printf "variables.old%s" (first . | title) -}}
{{- $new := printf "variables.%s" (first .) -}}
{{ $new }}.all(key, {{ last . }} || key in {{ $old }} && {{ $old }}[key] == {{ $new }}[key])
&& {{ $old }}.all(key, {{ last . }} || key in {{ $new }})
{{- end }}

{{/* Whether finalizers change only by one of the agent, and owners do not, as CEL. */}}
{{- define "policies.onlyFinalizer" -}}
object.metadata.?finalizers.orValue([]).filter(it, it != '{{ . }}')
== oldObject.metadata.?finalizers.orValue([]).filter(it, it != '{{ . }}')
{{- end }}

{{/*
P11 What the hub has to tidy up first goes when the hub says so: members do not remove its finalizers.
*/}}
{{- define "policies.finalizers" }}
{{- if .Values.policies.rules.P11 }}
- expression: >-
    oldObject == null
    || oldObject.metadata.?finalizers.orValue([]).all(it,
         it in object.metadata.?finalizers.orValue([]) || !(it in [
           'networking.fleet.azure.com/endpointsliceexport-cleanup',
           'networking.fleet.azure.com/internal-svc-export-cleanup',
           'networking.fleet.azure.com/internalsvcimport-cleanup']))
    || {{ include "policies.byTheHub" . }}
    || variables.admin
  message: "P11: only the hub agent may remove its finalizer"
  reason: Forbidden
{{- end }}
{{- end }}

{{/* Whether a user without the hub agent's rights changes finalizers, as CEL. */}}
{{- define "policies.finalizersChanged" -}}
oldObject != null && object.metadata.?finalizers != oldObject.metadata.?finalizers
&& !({{ include "policies.byTheHub" . }})
{{- end }}

{{/*
P1 A member speaks in its own name: that of its namespace.
P7 What a reference says in one field it says in the others.
P8 What an object is about stays as it was made. The cluster is left to P1, so that a wrong one can be put right. Who
   asks for a Service may make the ServiceImport that it asks for anew, and a hub that was restored may have the export of
   an earlier Service of the name; the hub does not look at their uids.
*/}}
{{- define "policies.references.variables" -}}
- name: new
  expression: object.spec.{{ .reference }}
- name: old
  expression: oldObject.spec.{{ .reference }}
{{- if .slices }}
- name: owner
  expression: object.spec.ownerServiceReference
{{- end }}
{{- end }}

{{- define "policies.references" }}
{{- $rules := .root.Values.policies.rules }}
{{- if $rules.P1 }}
- expression: >-
    !variables.changed
    || request.namespace == '{{ include "policies.prefix" . }}' + variables.new.clusterId
    || variables.admin
  message: "P1: a member may write only for its own cluster"
  messageExpression: >-
    'P1: the cluster ' + variables.new.clusterId + ' does not belong to the namespace ' + request.namespace
    + ': a member may write only for its own cluster'
{{- end }}
{{- if $rules.P7 }}
- expression: >-
    !variables.changed
    || variables.new.namespacedName.split('/') == [variables.new.namespace, variables.new.name]
    {{- if .slices }}
    && variables.owner.namespacedName.split('/') == [variables.owner.namespace, variables.owner.name]
    && variables.owner.namespace == variables.new.namespace
    {{- end }}
    || variables.admin
  message: "P7: namespace, name and namespacedName of a reference contradict each other
    {{- if .slices }}, or slice and Service are in two namespaces{{ end }}"
{{- end }}
{{- if $rules.P8 }}
- expression: >-
    !variables.changed || oldObject == null
    || variables.new.namespace == variables.old.namespace
    && variables.new.name == variables.old.name
    {{- if .slices }}
    && variables.new.uid == variables.old.uid
    && variables.owner == oldObject.spec.ownerServiceReference
    {{- end }}
    || variables.admin
  message: "P8: the reference of an object cannot be changed; delete the object and create another one"
{{- end }}
{{- end }}

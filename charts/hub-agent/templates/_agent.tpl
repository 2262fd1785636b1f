{{/* Flags that only this agent has. */}}
{{- define "hub-agent.args" -}}
- --force-delete-wait-time={{ .Values.forceDeleteWaitTime }}
- --exclusive-imports={{ .Values.exclusiveImports }}
{{- with .Values.memberHeartbeatTTL }}
- --member-heartbeat-ttl={{ . }}
{{- end }}
{{- end -}}

{{/* Settings that 0.1.0 does not have. It stops at a flag that it does not know, and ignores variables: a pinned image
   still starts with this chart. */}}
{{- define "hub-agent.env" -}}
{{- /* Values of an earlier release, which are reused, have none: then the agent's own default holds. */}}
{{- if kindIs "slice" .Values.deniedNamespaces }}
- {name: DENIED_NAMESPACES, value: {{ join "," .Values.deniedNamespaces | quote }}}
{{- end }}
- {name: ENFORCE_MEMBER_POLICIES, value: {{ include "policies.enforced" . | quote }}}
{{- with .Values.maxEndpointsPerService }}
- {name: MAX_ENDPOINTS_PER_SERVICE, value: {{ . | int | quote }}}
{{- end }}
{{- with .Values.maxServicesPerMember }}
- {name: MAX_SERVICES_PER_MEMBER, value: {{ . | int | quote }}}
{{- end }}
{{- if include "hub-agent.carriesPods" . }}
- {name: VIRTUAL_NODES, value: "true"}
{{- end }}
{{- if include "hub-agent.decidesTraffic" . }}
- {name: TRAFFIC, value: "true"}
{{- end }}
{{- if include "hub-agent.followsLeases" . }}
- {name: MEMBER_LEASE, value: "true"}
{{- if and .Values.virtualNodes.enabled (not (has .Values.memberLease.silentAfter (list "60s" "1m" "1m0s"))) }}
{{- fail "virtualNodes.enabled needs memberLease.silentAfter=60s: members whose Pods end by themselves count on it" }}
{{- end }}
{{- with .Values.memberLease.silentAfter }}
- {name: MEMBER_SILENT_AFTER, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- if include "hub-agent.servesMulticluster" . }}
- {name: MULTICLUSTER, value: {{ include "hub-agent.multicluster" . | quote }}}
{{- with .Values.multicluster.clustersetID }}
- {name: CLUSTERSET_ID, value: {{ . | quote }}}
{{- end }}
{{- with .Values.multicluster.settle }}
- {name: MULTICLUSTER_SETTLE, value: {{ . | quote }}}
{{- end }}
{{- with .Values.multicluster.withdrawnFor }}
- {name: MULTICLUSTER_WITHDRAWN_FOR, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end -}}

{{/* "true" where the agent follows the Leases of members, or nothing: where it carries Pods or decides about silent members, it
   does. Values of an earlier release, which are reused, have no such value. */}}
{{- define "hub-agent.followsLeases" -}}
{{- if or (dig "enabled" false (.Values.memberLease | default dict)) (include "hub-agent.carriesPods" .) (include "hub-agent.decidesTraffic" .) }}true{{ end -}}
{{- end -}}

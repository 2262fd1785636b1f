{{/* Rejects missing and contradictory settings of the hub, with a message for each. */}}
{{- define "member-agent.checkConfig" -}}
{{- with .Values.config -}}
{{- $_ := required "config.memberClusterName is not set: it is this cluster's name in the fleet, the end of its namespace fleet-member-<name> on the hub" .memberClusterName -}}
{{- if ne .provider "kubeconfig" -}}
{{- $_ := required "config.hubURL is not set: it is the address of the hub's API server, https://..." .hubURL -}}
{{- else if or .hubURL .hubCA -}}
{{- fail "config.hubURL and config.hubCA have no effect with the provider kubeconfig: the kubeconfig has both" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Flags that only this agent has. */}}
{{- define "member-agent.args" -}}
{{- include "member-agent.checkConfig" . -}}
- --fleet-system-namespace={{ .Values.fleetSystemNamespace }}
- --tls-insecure={{ .Values.tlsClientInsecure }}
- --enable-networking-features={{ .Values.enableNetworkingFeatures }}
- --derived-service-grace-period={{ .Values.derivedServiceGracePeriod }}
- --external-workloads={{ .Values.externalWorkloads.enabled }}
- --endpointslices={{ .Values.endpointslices.mode }}
- --max-endpoints-per-slice={{ .Values.endpointslices.maxEndpointsPerSlice }}
{{- end -}}

{{/* Whether the agent renews its token: "true", or nothing. Values of an earlier release, which are reused, have no such value. */}}
{{- define "member-agent.renewsToken" -}}
{{- if and (eq .Values.config.provider "secret") (dig "renew" false (.Values.token | default dict)) }}true{{ end }}
{{- end -}}

{{/* How the standard API is served: off, clean-up or on. YAML reads a bare `on` as true. Values of an earlier release, which are
   reused, have no such value. */}}
{{- define "member-agent.multicluster" -}}
{{- $mode := dig "mode" "off" (.Values.multicluster | default dict) -}}
{{- if kindIs "bool" $mode -}}{{ ternary "on" "off" $mode }}{{- else -}}{{ $mode | default "off" }}{{- end -}}
{{- end -}}

{{/* Whether Pods of this cluster run in other members: "true", or nothing. Values of an earlier release, which are reused, have no such
   value. */}}
{{- define "member-agent.isOrigin" -}}
{{- if dig "origin" "enabled" false (.Values.virtualNode | default dict) }}true{{ end }}
{{- end -}}

{{/* Whether Pods of other members run here: "true", or nothing. */}}
{{- define "member-agent.isExecutor" -}}
{{- if dig "executor" "enabled" false (.Values.virtualNode | default dict) }}true{{ end }}
{{- end -}}

{{/* Whether policies direct the traffic of imported Services: "true", or nothing. Values of an earlier release have no such value. */}}
{{- define "member-agent.directsTraffic" -}}
{{- if dig "enabled" false (.Values.traffic | default dict) }}true{{ end }}
{{- end -}}

{{/* Whether derived Services may have a selector, which traffic policies ask for: "true", or nothing. Values of an earlier release have
   no such value. */}}
{{- define "member-agent.derivedSelectors" -}}
{{- if include "member-agent.directsTraffic" . }}
{{- if dig "derivedSelectors" false (.Values.traffic | default dict) }}true{{ end }}
{{- end }}
{{- end -}}

{{/* What is dialled to prove that imported Services are reached: off, addresses or names. YAML reads a bare `off` as false. Values of an
   earlier release, which are reused, have no such value. */}}
{{- define "member-agent.reachability" -}}
{{- $mode := dig "mode" "off" (.Values.reachability | default dict) -}}
{{- if kindIs "bool" $mode -}}off{{- else -}}{{ $mode | default "off" }}{{- end -}}
{{- end -}}

{{/* What users of namespaces may do with a kind of the chart: `root` and `name`, by which its files are found. */}}
{{- define "member-agent.userRoles" -}}
{{- $top := . }}
{{- range $access, $roles := dict "view" (list "view") "edit" (list "admin" "edit") }}
{{- $users := $top.root.Files.Get (printf "%s-%s.yaml" $top.name $access) | fromYaml }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "common.fullname" $top.root }}-{{ $top.name }}-{{ $access }}
  labels:
    {{- include "common.labels" $top.root | nindent 4 }}
    {{- range $roles }}
    rbac.authorization.k8s.io/aggregate-to-{{ . }}: "true"
    {{- end }}
rules:
{{ toYaml $users.rules }}
{{- end }}
{{- end -}}

{{/* Environment variables that only this agent has. */}}
{{- define "member-agent.env" -}}
{{- with .Values.config -}}
- {name: MEMBER_CLUSTER_NAME, value: {{ quote .memberClusterName }}}
{{- if eq .provider "kubeconfig" }}
- {name: HUB_KUBECONFIG, value: /var/run/fleet/hub/kubeconfig}
{{- else }}
- {name: HUB_SERVER_URL, value: {{ quote .hubURL }}}
- {name: CONFIG_PATH, value: /var/run/fleet/hub/token}
{{- end }}
{{- /* Variables: an agent of an earlier release, which rejects flags that it does not know, ignores them. */}}
{{- if eq "true" (include "member-agent.renewsToken" $) }}
- {name: HUB_TOKEN_SECRET, value: {{ printf "%s/%s/%s" $.Release.Namespace $.Values.secret.name (default "token" $.Values.secret.key) }}}
- {name: HUB_TOKEN_LIFETIME, value: {{ $.Values.token.lifetime }}}
{{- with $.Values.token.audiences }}
- {name: HUB_TOKEN_AUDIENCES, value: {{ join "," . | quote }}}
{{- end }}
{{- end }}
{{- with .hubCA }}
- {name: HUB_CERTIFICATE_AUTHORITY, value: {{ quote . }}}
{{- end }}
{{- with .hubHeaders }}
- {name: HUB_KUBE_HEADER, value: {{ quote . }}}
{{- end }}
{{- end }}
{{- /* Settings that 0.1.0 does not have. It stops at a flag that it does not know, and ignores variables: a pinned image
   still starts with this chart. Values of an earlier release, which are reused, have none: then the agent's own default
   holds. */}}
{{- if kindIs "slice" .Values.deniedNamespaces }}
- {name: DENIED_NAMESPACES, value: {{ join "," .Values.deniedNamespaces | quote }}}
{{- end }}
{{- with .Values.reservedCidrs }}
- {name: RESERVED_CIDRS, value: {{ join "," . | quote }}}
{{- end }}
{{- $allowed := list }}
{{- range $cluster, $ranges := .Values.allowedReservedCidrs }}
{{- range $ranges }}{{ $allowed = append $allowed (printf "%s=%s" $cluster .) }}{{ end }}
{{- end }}
{{- with $allowed }}
- {name: ALLOWED_RESERVED_CIDRS, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.externalWorkloads.cidrs }}
- {name: EXTERNAL_WORKLOAD_CIDRS, value: {{ join "," . | quote }}}
{{- end }}
{{- if .Values.externalWorkloads.enabled }}
{{- with .Values.externalWorkloads.linkerdNamespace }}
- {name: LINKERD_NAMESPACE, value: {{ quote . }}}
{{- end }}
{{- end }}
{{- with .Values.endpointslices.networkCidrs }}
- {name: ENDPOINT_NETWORK_CIDRS, value: {{ join "," . | quote }}}
{{- end }}
{{- $mode := include "member-agent.multicluster" . }}
{{- if ne $mode "off" }}
{{- with .Values.multicluster }}
- {name: MULTICLUSTER, value: {{ quote $mode }}}
- {name: MULTICLUSTER_SETTLE, value: {{ quote .settle }}}
- {name: MULTICLUSTER_EXPORTED_METADATA, value: {{ quote .exportedMetadata }}}
{{- with .importNamespaces }}
- {name: MULTICLUSTER_IMPORT_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- if hasKey . "zones" }}
- {name: MULTICLUSTER_ZONES, value: {{ quote .zones }}}
{{- end }}
{{- end }}
{{- end }}
{{- if dig "enabled" false (.Values.memberLease | default dict) }}
- {name: MEMBER_LEASE, value: "true"}
{{- end }}
{{- if or (include "member-agent.isOrigin" .) (include "member-agent.isExecutor" .) }}
{{- if not (dig "enabled" false (.Values.memberLease | default dict)) }}
{{- fail "virtualNode needs memberLease.enabled: without it no member knows whether the other one still works" }}
{{- end }}
{{- end }}
{{- if include "member-agent.isOrigin" . }}
- {name: VIRTUAL_NODE_ORIGIN, value: "true"}
{{- with .Values.virtualNode.origin.address }}
- {name: VIRTUAL_NODE_ADDRESS, value: {{ quote . }}}
{{- end }}
{{- end }}
{{- if include "member-agent.isExecutor" . }}
- {name: VIRTUAL_NODE_EXECUTOR, value: "true"}
{{- with .Values.virtualNode.executor.clientCidrs }}
- {name: VIRTUAL_NODE_CLIENT_CIDRS, value: {{ join "," . | quote }}}
{{- end }}
{{- end }}
{{- if include "member-agent.directsTraffic" . }}
- {name: TRAFFIC, value: "true"}
{{- with .Values.traffic.dataPlane }}
- {name: DATA_PLANE, value: {{ quote . }}}
{{- end }}
{{- with .Values.traffic.missingExporterAfter }}
- {name: MISSING_EXPORTER_AFTER, value: {{ quote . }}}
{{- end }}
{{- if include "member-agent.derivedSelectors" . }}
- {name: DERIVED_SELECTORS, value: "true"}
{{- end }}
{{- end }}
{{- with include "member-agent.reachability" . }}
{{- if ne . "off" }}
- {name: REACHABILITY, value: {{ quote . }}}
{{- end }}
{{- end }}
{{- with .Values.derivedServices }}
- {name: DERIVED_SERVICE_TYPE, value: {{ quote .type }}}
{{- with .loadBalancerClass }}
- {name: DERIVED_SERVICE_LOAD_BALANCER_CLASS, value: {{ quote . }}}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The volume with credentials for the hub. */}}
{{- define "member-agent.volume" -}}
{{- $file := eq .Values.config.provider "kubeconfig" | ternary "kubeconfig" "token" -}}
name: hub
{{- if eq .Values.config.provider "projected" }}
projected:
  sources:
  - serviceAccountToken:
      audience: {{ .Values.projected.audience }}
      expirationSeconds: {{ .Values.projected.expirationSeconds }}
      path: token
{{- else }}
secret:
  secretName: {{ .Values.secret.name }}
  # For the group of the Pod.
  defaultMode: 0440
  {{- if eq $file "token" }}
  # Without, the agent looks after this cluster all the same.
  optional: true
  {{- end }}
  items:
  - {key: {{ .Values.secret.key | default $file }}, path: {{ $file }}}
{{- end }}
{{- end -}}

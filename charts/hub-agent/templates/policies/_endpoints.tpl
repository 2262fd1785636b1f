{{/*
P3 Addresses are addresses, of the slice's family, written in the one canonical way.
P4 No address leads to the node that sends to it, to everybody, or nowhere.
*/}}
{{- define "policies.endpoints.variables" -}}
{{- include "policies.addresses" . }}
- name: family
  expression: "object.spec.addressType == 'IPv6' ? 6 : 4"
- name: reserved
  expression: >-
    {{ concat (list "0.0.0.0/8" "240.0.0.0/4" "64:ff9b::/96") .Values.policies.reservedCidrs | toJson }}.map(range, cidr(range))
- name: cloudServices
  expression: >-
    {{ include "policies.cloudServices" . }}.map(text, ip(text))
{{- end }}

{{- define "policies.endpoints" }}
{{- if .Values.policies.rules.P3 }}
- expression: >-
    !variables.changed
    || variables.addresses.all(some, some.all(text,
         isIP(text) && ip(text).family() == variables.family && ip.isCanonical(text)))
    || variables.admin
  message: "P3: an address is not an IP address of the slice's addressType in canonical form"
{{- end }}
{{- if .Values.policies.rules.P4 }}
- expression: >-
    !variables.changed
    || variables.addresses.all(some, some.all(text,
         isIP(text) && ip(text).isGlobalUnicast()
         && !(ip(text) in variables.cloudServices)
         && variables.reserved.all(range, !range.containsIP(text))))
    || variables.admin
  message: "P4: an address is reserved: loopback, link-local, multicast, broadcast, unspecified, NAT64, a cloud's metadata
    service, or in a range that the hub's administrators name"
{{- end }}
{{- end }}

{{/*
The Deployment of an agent. Takes: root; args: YAML list of the flags that only this agent has; env: list of its variables;
volume: the volume that is mounted at /var/run/fleet/hub.
*/}}
{{- define "common.deployment" -}}
{{- $agent := . -}}
{{- with .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "common.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "common.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicaCount }}
  selector:
    matchLabels: {{- include "common.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "common.selectorLabels" . | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "common.serviceAccountName" . }}
      # Derived Services are in this namespace: variables for thousands of them are more than a program can be started with, and a name
      # that a user has chosen could replace the API server's.
      enableServiceLinks: false
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      # What the Pod Security Standard "restricted" asks for.
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: agent
        image: {{ include "common.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
        - --metrics-bind-address=:8080
        - --health-probe-bind-address=:8081
        - --log-level={{ .Values.logLevel }}
        {{- with .Values.otlpEndpoint }}
        - --otlp-endpoint={{ . }}
        {{- end }}
        - --leader-election-namespace={{ .Values.leaderElectionNamespace }}
        {{- with .Values.writesInFlight }}
        - --writes-in-flight={{ . }}
        {{- end }}
        {{- $agent.args | nindent 8 }}
        {{- with .Values.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with concat (default list $agent.env) .Values.extraEnv }}
        env: {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        - {name: metrics, containerPort: 8080}
        - {name: health, containerPort: 8081}
        livenessProbe:
          httpGet: {path: /livez, port: health}
          initialDelaySeconds: 10
          periodSeconds: 10
          timeoutSeconds: 5
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 5
          timeoutSeconds: 5
        resources: {{- toYaml .Values.resources | nindent 10 }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        {{- with $agent.volume }}
        volumeMounts:
        - {name: {{ .name }}, mountPath: /var/run/fleet/hub, readOnly: true}
      volumes: {{- list . | toYaml | nindent 6 }}
        {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
      {{- with .Values.topologySpreadConstraints }}
      {{- toYaml . | nindent 6 }}
      {{- else }}
      {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
      - maxSkew: 1
        topologyKey: {{ . }}
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels: {{- include "common.selectorLabels" $agent.root | nindent 12 }}
      {{- end }}
      {{- end }}
{{- end -}}
{{- end -}}

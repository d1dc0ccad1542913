{{/* The parts that several objects share. */}}

{{- define "preflight.name" -}}
{{- if contains "preflight" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-preflight" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "preflight.labels" -}}
app.kubernetes.io/name: preflight
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* What selects pods; call it with the root and a component. */}}
{{- define "preflight.selector" -}}
app.kubernetes.io/name: preflight
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "preflight.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "preflight.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "preflight.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "preflight.databaseEnvironment" -}}
# Empty, so that the file counts: the image's own is SQLite.
- name: PREFLIGHT_DATABASE_URL
  value: ""
- name: PREFLIGHT_DATABASE_URL_FILE
  value: /etc/preflight/database/url
{{- end -}}

{{/* Secrets come as files, never as values. Call it with the root and the secret that holds the database's address. */}}
{{- define "preflight.environment" -}}
- name: PREFLIGHT_APP_ID
  value: {{ .root.Values.github.appId | int64 | quote }}
- name: PREFLIGHT_GITHUB_API_URL
  value: {{ .root.Values.github.apiUrl | quote }}
- name: PREFLIGHT_PRIVATE_KEY_FILE
  value: /etc/preflight/app/private-key
- name: PREFLIGHT_WEBHOOK_SECRET_FILE
  value: /etc/preflight/app/webhook-secret
{{- if .root.Values.secrets.app.clientSecret }}
- name: PREFLIGHT_CLIENT_SECRET_FILE
  value: /etc/preflight/app/client-secret
{{- end }}
{{ include "preflight.databaseEnvironment" .root }}
- name: PREFLIGHT_EXECUTOR_ID
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- range $name, $value := .root.Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "preflight.secretMounts" -}}
- name: app
  mountPath: /etc/preflight/app
  readOnly: true
{{ include "preflight.databaseMount" . }}
{{- end -}}

{{- define "preflight.databaseMount" -}}
- name: database
  mountPath: /etc/preflight/database
  readOnly: true
{{- end -}}

{{/* Call it with the name of a secret and the key in it that holds the database's address. */}}
{{- define "preflight.databaseVolume" -}}
- name: database
  secret:
    secretName: {{ .name }}
    defaultMode: 0440
    items:
      - key: {{ .url }}
        path: url
{{- end -}}

{{- define "preflight.secretVolumes" -}}
- name: app
  secret:
    secretName: {{ .root.Values.secrets.app.name }}
    defaultMode: 0440
    items:
      - key: {{ .root.Values.secrets.app.privateKey }}
        path: private-key
      - key: {{ .root.Values.secrets.app.webhookSecret }}
        path: webhook-secret
      {{- with .root.Values.secrets.app.clientSecret }}
      - key: {{ . }}
        path: client-secret
      {{- end }}
{{ include "preflight.databaseVolume" .database }}
{{- end -}}

{{- define "preflight.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- define "preflight.scrape" -}}
{{- if .Values.scrape }}
prometheus.io/scrape: "true"
prometheus.io/port: "8000"
prometheus.io/path: /metrics
{{- end }}
{{- end -}}

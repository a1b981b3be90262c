{{- define "millrace.name" -}}
{{- if contains "millrace" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-millrace" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "millrace.selector" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "millrace.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "millrace.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "millrace.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "millrace.claim" -}}
{{ .Values.blobs.volume.existingClaim | default (printf "%s-files" (include "millrace.name" .)) }}
{{- end }}

{{- define "millrace.onVolume" -}}
{{- if or .Values.blobs.volume.existingClaim .Values.blobs.volume.size }}yes{{ end }}
{{- end }}

{{- /* What values must agree on beyond their schema: one line with the remedy each. */ -}}
{{- define "millrace.check" -}}
{{- $bucket := .Values.blobs.bucket.name }}{{ $volume := include "millrace.onVolume" . }}
{{- if and $bucket $volume }}
{{- fail "blobs has two sources: files are in a bucket or on a volume, not both; unset blobs.bucket.name, or blobs.volume.existingClaim and blobs.volume.size" }}
{{- end }}
{{- if not (or $bucket $volume) }}
{{- fail "blobs has no source: set blobs.bucket.name, or blobs.volume.existingClaim or blobs.volume.size for a volume that all pods can write (ReadWriteMany)" }}
{{- end }}
{{- if and .Values.blobs.volume.existingClaim .Values.blobs.volume.size }}
{{- fail "blobs.volume has two sources: unset existingClaim to have a claim made, or size to use the one that exists" }}
{{- end }}
{{- if not .Values.temporal.address }}
{{- fail "temporal.address is empty: set HOST:PORT of the Temporal frontend" }}
{{- end }}
{{- if not (has "DATABASE_URL" .Values.secrets.keys) }}
{{- fail "secrets.keys does not name DATABASE_URL: put the address of PostgreSQL into the Secret under that key" }}
{{- end }}
{{- if not (has "MILLRACE_SECRET_KEY" .Values.secrets.keys) }}
{{- fail "secrets.keys does not name MILLRACE_SECRET_KEY: without one, each pod would make a key of its own; put 32 bytes in hex (openssl rand -hex 32) into the Secret" }}
{{- end }}
{{- range .Values.secrets.keys }}{{ if hasKey $.Values.settings . }}
{{- fail (printf "%s is in settings and in secrets.keys: unset one" .) }}
{{- end }}{{ end }}
{{- if and (eq .Values.scaler.kind "keda") .Values.worker.autoscaling.enabled (not .Values.scaler.prometheus) }}
{{- fail "scaler.kind is keda and scaler.prometheus is empty: set the address of Prometheus, or scaler.kind to hpa" }}
{{- end }}
{{- if and .Values.temporal.apiKey.secret .Values.temporal.tls.client.secret }}
{{- fail "temporal.apiKey.secret and temporal.tls.client.secret are both set: Temporal knows a client by one of them; unset the other" }}
{{- end }}
{{- end }}

{{- /* Environment of a container; the context is a dict of root and seconds. */ -}}
{{- define "millrace.env" -}}
{{- $v := .root.Values }}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: MILLRACE_ADVERTISE_URL, value: "http://$(POD_IP):8189"}
- {name: MILLRACE_INTERNAL_ADDR, value: "0.0.0.0:8189"}
- {name: MILLRACE_METRICS_ADDR, value: "0.0.0.0:9090"}
- {name: MILLRACE_STOP_AFTER, value: "{{ .seconds }}s"}
- {name: PGSSLMODE, value: {{ $v.database.sslmode | quote }}}
{{- if $v.database.ca.secret }}
- {name: PGSSLROOTCERT, value: /etc/millrace/database/{{ $v.database.ca.key }}}
{{- end }}
- {name: TEMPORAL_ADDRESS, value: {{ $v.temporal.address | quote }}}
- {name: TEMPORAL_NAMESPACE, value: {{ $v.temporal.namespace | quote }}}
{{- if $v.temporal.tls.enabled }}
- {name: TEMPORAL_TLS, value: "true"}
{{- with $v.temporal.tls.serverName }}
- {name: TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }}}
{{- end }}
{{- if $v.temporal.tls.ca.secret }}
- {name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /etc/millrace/temporal-ca/{{ $v.temporal.tls.ca.key }}}
{{- end }}
{{- if $v.temporal.tls.client.secret }}
- {name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/millrace/temporal-client/tls.crt}
- {name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/millrace/temporal-client/tls.key}
{{- end }}
{{- end }}
{{- if $v.temporal.apiKey.secret }}
- {name: TEMPORAL_API_KEY_FILE, value: /etc/millrace/temporal-key/{{ $v.temporal.apiKey.key }}}
{{- end }}
{{- with $v.blobs.bucket }}{{ if .name }}
- {name: MILLRACE_BUCKET, value: {{ .name | quote }}}
{{- with .endpoint }}
- {name: MILLRACE_BUCKET_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .region }}
- {name: MILLRACE_BUCKET_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .prefix }}
- {name: MILLRACE_BUCKET_PREFIX, value: {{ . | quote }}}
{{- end }}
{{- end }}{{ end }}
{{- range $name, $value := $v.settings }}
- {name: {{ $name }}, value: {{ if kindIs "float64" $value }}{{ int64 $value | quote }}{{ else }}{{ $value | quote }}{{ end }}}
{{- end }}
{{- range $v.secrets.keys }}
- {name: {{ . }}_FILE, value: /etc/millrace/secrets/{{ . }}}
{{- end }}
{{- end }}

{{- define "millrace.mounts" -}}
- {name: data, mountPath: /var/lib/millrace}
- {name: tmp, mountPath: /tmp}
- {name: secrets, mountPath: /etc/millrace/secrets, readOnly: true}
{{- if .Values.database.ca.secret }}
- {name: database-ca, mountPath: /etc/millrace/database, readOnly: true}
{{- end }}
{{- if .Values.temporal.tls.ca.secret }}
- {name: temporal-ca, mountPath: /etc/millrace/temporal-ca, readOnly: true}
{{- end }}
{{- if .Values.temporal.tls.client.secret }}
- {name: temporal-client, mountPath: /etc/millrace/temporal-client, readOnly: true}
{{- end }}
{{- if .Values.temporal.apiKey.secret }}
- {name: temporal-key, mountPath: /etc/millrace/temporal-key, readOnly: true}
{{- end }}
{{- end }}

{{- define "millrace.volumes" -}}
- name: data
{{- if include "millrace.onVolume" . }}
  persistentVolumeClaim: {claimName: {{ include "millrace.claim" . }}}
{{- else }}
  emptyDir: {} # what is uploaded on its way to the bucket, and values between nodes, which are computed again when lost
{{- end }}
- {name: tmp, emptyDir: {}}
- {name: secrets, secret: {secretName: {{ .Values.secrets.existing }}, defaultMode: 0440}}
{{- with .Values.database.ca.secret }}
- {name: database-ca, secret: {secretName: {{ . }}}}
{{- end }}
{{- with .Values.temporal.tls.ca.secret }}
- {name: temporal-ca, secret: {secretName: {{ . }}}}
{{- end }}
{{- with .Values.temporal.tls.client.secret }}
- {name: temporal-client, secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- with .Values.temporal.apiKey.secret }}
- {name: temporal-key, secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- end }}

{{- define "millrace.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "millrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

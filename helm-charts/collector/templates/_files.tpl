{{/* The volume source of /etc/collector: the configuration and further files; nothing where there are none. */}}
{{- define "collector.files" -}}
{{- $collector := .Values.collector }}
{{- $own := include "collector.ownFiles" . }}
{{- with $collector.configurationSecret }}
{{- if $own }}
projected:
  defaultMode: 420
  sources:
    - secret:
        name: {{ .name | quote }}
        items:
          - key: {{ .key | quote }}
            path: {{ $collector.fileName | quote }}
    - secret:
        name: {{ include "collector.ownSecret" $ }}
        {{- $own | trim | nindent 8 }}
{{- else }}
secret:
  defaultMode: 420
  secretName: {{ .name | quote }}
  items:
    - key: {{ .key | quote }}
      path: {{ $collector.fileName | quote }}
{{- end }}
{{- else }}
{{- with $own }}
secret:
  defaultMode: 420
  secretName: {{ include "collector.ownSecret" $ }}
  {{- . | trim | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The name of the release's own Secret, where it is mounted. The post-renderer looks for the comment: it gives this Secret a name of its content,
and leaves a Secret of the same name alone that values refer to.
*/}}
{{- define "collector.ownSecret" -}}
{{ printf "%s-config" .Release.Name | quote }} # kube8.dev/own
{{- end }}

{{/* The configuration in the values, in base64; nothing where there is none. */}}
{{- define "collector.configuration" -}}
{{- .Values.collector.configuration | default (.Values.collector.configurationText | default "" | b64enc) }}
{{- end }}

{{/* The files in the release's own Secret, as items of a volume; nothing where there are none. A key has no "/". */}}
{{- define "collector.ownFiles" -}}
{{- $names := keys (.Values.collector.files | default dict) | sortAlpha }}
{{- range .Values.bases }}{{ $names = append $names .file }}{{ end }}
{{- if or .Values.collector.configuration .Values.collector.configurationText }}{{ $names = prepend $names .Values.collector.fileName }}{{ end }}
{{- with $names }}
items:
  {{- range . }}
  - key: {{ replace "/" ".." . | quote }}
    path: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

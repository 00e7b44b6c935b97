{{/*
The container's probes: a given one replaces the default, and an empty one removes it. The value healthCheck is not the
Collector's: internal/configuration has found it in the configuration.
*/}}
{{- define "collector.probes" -}}
{{- $probes := dict }}
{{- with .Values.healthCheck }}
{{- $_ := set $probes "livenessProbe" (dict "httpGet" . "timeoutSeconds" 5) }}
{{- $_ := set $probes "readinessProbe" (dict "httpGet" . "timeoutSeconds" 5) }}
{{- end }}
{{- range $kind := list "livenessProbe" "readinessProbe" "startupProbe" }}
{{- if hasKey $.Values $kind }}
{{- $_ := unset $probes $kind }}
{{- with get $.Values $kind }}{{ $_ := set $probes $kind . }}{{ end }}
{{- end }}
{{- end }}
{{- toJson $probes }}
{{- end }}

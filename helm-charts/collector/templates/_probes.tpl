{{/*
The first health_check extension that the configuration enables on an address that the kubelet can reach, as httpGet in
JSON; nothing where there is none. The configuration is the tenant's: any node of it may be of any type.
*/}}
{{- define "collector.healthCheck" -}}
{{- $config := dict }}
{{- if and .Values.collector.configuration (ne .Values.collector.format "raw") }}
{{- $config = .Values.collector.configuration | b64dec | trimPrefix "\ufeff" | fromYaml }}
{{- end }}
{{- $service := get $config "service" }}
{{- $extensions := get $config "extensions" }}
{{- if and (kindIs "map" $service) (kindIs "map" $extensions) }}
{{- $enabled := get $service "extensions" }}
{{- $found := "" }}
{{- if kindIs "slice" $enabled }}
{{- range $name := $enabled }}
{{- if and (not $found) (kindIs "string" $name) (regexMatch "^health_check(/.+)?$" (toString $name)) }}
{{- $extension := get $extensions $name }}
{{- if kindIs "map" $extension }}
{{- $endpoint := get $extension "endpoint" | toString }}
{{- $port := regexFind ":[1-9][0-9]{0,4}$" $endpoint }}
{{- $host := trimSuffix $port $endpoint }}
{{- $path := get $extension "path" | default "/" | toString }}
{{- if and $port (le (int (trimPrefix ":" $port)) 65535) (not (get $extension "tls"))
  (not (regexMatch "^(?i)(localhost|127[.].*|\\[::1\\])$" $host)) (regexMatch "^/[^$]*$" $path) }}
{{- $found = dict "path" $path "port" (int (trimPrefix ":" $port)) "scheme" "HTTP" | toJson }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $found }}
{{- end }}
{{- end }}

{{/* The container's probes: a given one replaces the default, and an empty one removes it. */}}
{{- define "collector.probes" -}}
{{- $probes := dict }}
{{- with include "collector.healthCheck" . }}
{{- $_ := set $probes "livenessProbe" (dict "httpGet" (fromJson .) "timeoutSeconds" 5) }}
{{- $_ := set $probes "readinessProbe" (dict "httpGet" (fromJson .) "timeoutSeconds" 5) }}
{{- end }}
{{- range $kind := list "livenessProbe" "readinessProbe" "startupProbe" }}
{{- if hasKey $.Values $kind }}
{{- $_ := unset $probes $kind }}
{{- with get $.Values $kind }}{{ $_ := set $probes $kind . }}{{ end }}
{{- end }}
{{- end }}
{{- toJson $probes }}
{{- end }}

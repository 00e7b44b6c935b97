{{- define "gvList" -}}
# API reference

<!-- This page is written by: make generate -->
{{ range . }}
{{ template "group" . }}
{{- end }}
{{- end -}}

{{- define "group" -}}
`{{ .GroupVersionString }}`, generated from the Go types in `api/` by `make generate`.

{{- /* The kinds and what they consist of come first, in the order in which a reader needs them. Other
types named …Spec are inlined: their fields are listed where a reader finds them in a manifest. */}}
{{ range .SortedTypes }}{{ if hasPrefix "Collector" .Name }}{{ template "type" . }}{{ end }}{{ end -}}
{{ range .SortedTypes }}{{ if not (or (hasPrefix "Collector" .Name) (hasSuffix "Spec" .Name)) }}{{ template "type" . }}{{ end }}{{ end -}}
{{- end -}}

{{- define "type" }}
## {{ .Name }}

{{ .Doc }}
{{- if .References }}

Used by:
{{- $separator := " " -}}
{{- range .SortedReferences }}{{ if or (hasPrefix "Collector" .Name) (not (hasSuffix "Spec" .Name)) -}}
{{ $separator }}{{ markdownRenderTypeLink . }}{{ $separator = ", " }}
{{- end }}{{ end }}.
{{- end }}
{{- if .Members }}

| Field | Type | Meaning | Limits |
| --- | --- | --- | --- |
{{- if .GVK }}
| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | |
| `kind` | string | `{{ .GVK.Kind }}` | |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` | {{ template "fieldType" .Type }} | {{ template "meaning" . }} | {{ template "limits" .Validation }} |
{{- end }}
{{- else if .Validation }}

{{ template "limits" .Validation }}.
{{- end }}
{{ end -}}

{{- define "fieldType" -}}
{{- $text := markdownRenderType . -}}
{{- if hasPrefix "[IntOrString]" $text }}{{ $text = "integer or string" }}{{ end -}}
{{- if and .UnderlyingType (eq .UnderlyingType.Name "byte") }}{{ $text = "string (base64)" }}{{ end -}}
{{ $text | replace "object (keys:string, values:" "map of name to (" }}
{{- end -}}

{{- define "meaning" -}}
{{- if eq .Name "metadata" }}As for every Kubernetes object.{{ else }}{{ markdownRenderFieldDoc .Doc | replace "<br />" " " }}{{ end -}}
{{- end -}}

{{- /* Optional is the usual case, so only the other one is said. Rules explain themselves by their messages. */}}
{{- define "limits" -}}
{{- $first := true -}}
{{- range . }}{{ if not (or (hasPrefix "Optional" .) (hasPrefix "items:XValidation" .) (eq "Format: " .)) -}}
{{ if not $first }}, {{ end }}{{ if hasPrefix "Required" . }}required{{ else }}{{ markdownRenderFieldDoc . | replace "\\{" "{" | replace "\\}" "}" }}{{ end }}{{ $first = false }}
{{- end }}{{ end -}}
{{- end -}}

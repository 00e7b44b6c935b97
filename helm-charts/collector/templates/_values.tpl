{{/*
The API server stores given values in a form of its own: 1024Mi becomes 1Gi, "readOnly: false" is left out, a field of a
list's item gets its default. Where that happens inside a list or a map that is compared as a whole, the reconciler would
see a difference, and patch, on every pass. So given values are brought to that form here.
*/}}

{{/*
A quantity as the API server prints it: the canonical form, except that it keeps some given spellings. What is no quantity
comes out unchanged, for the API server to refuse.
*/}}
{{- define "collector.quantity" -}}
{{- $text := toString . }}
{{- if kindIs "float64" . }}{{ if eq . (float64 (int64 .)) }}{{ $text = toString (int64 .) }}{{ end }}{{ end }}
{{- $out := $text }}
{{- if regexMatch "^([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$" $text }}
{{- $number := regexFind "^[0-9.]+" $text }}
{{- $suffix := trimPrefix $number $text }}
{{- $fraction := trimPrefix "." (regexFind "[.].*" $number) }}
{{- $digits := regexReplaceAll "^0+" (print (regexFind "^[0-9]*" $number) $fraction) "" }}
{{- $short := regexReplaceAll "0+$" $digits "" }}
{{- $suffixes := dict "-9" "n" "-6" "u" "-3" "m" "0" "" "3" "k" "6" "M" "9" "G" "12" "T" "15" "P" "18" "E" }}
{{- $scientific := regexMatch "^[eE]." $suffix }}
{{- $power := int (get (dict "Ki" 1 "Mi" 2 "Gi" 3 "Ti" 4 "Pi" 5 "Ei" 6) $suffix) }}
{{- $exponent := 0 }}
{{- if $scientific }}
{{- $exponent = int (regexReplaceAll "^[eE][+]?(-?)0*" $suffix "${1}") }}
{{- else if not $power }}
{{- range $value, $name := $suffixes }}{{ if eq $name $suffix }}{{ $exponent = int $value }}{{ end }}{{ end }}
{{- end }}
{{- $exponent = sub $exponent (len $fraction) }}
{{- $kept := or (hasSuffix "000" $digits) (mod $exponent 3) (regexMatch "^0*[.]" $number) | not }}
{{- if $power }}{{ $kept = or (gt (add (len $digits) (mul 3 $power)) 17) (and (not $fraction) (mod (int64 $digits) 8)) }}{{ end }}
{{- if not $digits }}
{{- $out = "0" }}
{{- else if not $kept }}
{{- $exponent = sub (add $exponent (len $digits)) (len $short) }}
{{- $binary := false }}
{{- if $power }}
{{- $value := int64 $short }}
{{- range until $power }}{{ $value = mul $value 1024 }}{{ end }}
{{- range until 18 }}
{{- if and (lt $exponent 0) (not (mod $value 10)) }}{{ $value = div $value 10 }}{{ $exponent = add1 $exponent }}{{ end }}
{{- if gt $exponent 0 }}{{ $value = mul $value 10 }}{{ $exponent = sub $exponent 1 }}{{ end }}
{{- end }}
{{- $short = toString $value }}
{{- if and (eq (int $exponent) 0) (ge $value 1024) }}
{{- $binary = true }}
{{- $units := list "" "Ki" "Mi" "Gi" "Ti" "Pi" "Ei" }}
{{- range until 6 }}
{{- if not (mod $value 1024) }}{{ $value = div $value 1024 }}{{ $units = rest $units }}{{ end }}
{{- end }}
{{- $out = print $value (first $units) }}
{{- end }}
{{- end }}
{{- if not $binary }}
{{- range until 2 }}
{{- if mod $exponent 3 }}{{ $short = print $short "0" }}{{ $exponent = sub $exponent 1 }}{{ end }}
{{- end }}
{{- if hasKey $suffixes (toString $exponent) }}{{ $out = print $short (get $suffixes (toString $exponent)) }}{{ end }}
{{- if $scientific }}{{ $out = ternary $short (printf "%se%d" $short $exponent) (eq (int $exponent) 0) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- $out }}
{{- end }}

{{/* 80% of a quantity of memory, in bytes. Nothing for what is no quantity. */}}
{{- define "collector.goMemLimit" -}}
{{- $number := regexFind "^[0-9.]+" . }}
{{- $suffix := trimPrefix $number . }}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "m" 1e-3 "u" 1e-6 "n" 1e-9
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 }}
{{- $unit := get $units $suffix }}
{{- if regexMatch "^[eE][+-]?[0-9]{1,2}$" $suffix }}{{ $unit = float64 (print "1" $suffix) }}{{ end }}
{{- if and $number $unit }}{{ mulf (float64 $number) (float64 $unit) 0.8 | floor | int64 }}{{ end }}
{{- end }}

{{/* Brings a part of a pod's spec, in place, to the form in which the API server stores it. Prints nothing. */}}
{{- define "collector.tidy" -}}
{{- $node := . }}
{{- $seconds := list "initialDelaySeconds" "periodSeconds" "timeoutSeconds" "successThreshold" "failureThreshold" }}
{{- if kindIs "slice" $node }}
{{- range $node }}{{ include "collector.tidy" . }}{{ end }}
{{- else if kindIs "map" $node }}
{{- range $key, $value := $node }}
{{- if has $key (list "labels" "annotations" "matchLabels" "volumeAttributes" "options" "httpHeaders") }}
{{- else if and (has $key (list "limits" "requests")) (kindIs "map" $value) }}
{{- range $name, $quantity := $value }}{{ $_ := set $value $name (include "collector.quantity" $quantity) }}{{ end }}
{{- if not $value }}{{ $_ := unset $node $key }}{{ end }}
{{- else if and (has $key (list "sizeLimit" "divisor" "tolerance")) (not (kindIs "invalid" $value)) }}
{{- $_ := set $node $key (include "collector.quantity" $value) }}
{{- else if or (kindIs "invalid" $value) (and (kindIs "slice" $value) (empty $value))
  (and (eq (toString $value) "") (ne $key "storageClassName"))
  (and (eq $key "readOnly") (eq (toString $value) "false"))
  (and (has $key $seconds) (eq (toString $value) "0")) }}
{{- $_ := unset $node $key }}
{{- else }}
{{- if and (eq $key "fieldRef") (kindIs "map" $value) }}
{{- $_ := set $value "apiVersion" ($value.apiVersion | default "v1") }}
{{- else if and (eq $key "resourceFieldRef") (kindIs "map" $value) }}
{{- $_ := set $value "divisor" ($value.divisor | default "0") }}
{{- else if and (eq $key "serviceAccountToken") (kindIs "map" $value) }}
{{- $_ := set $value "expirationSeconds" ($value.expirationSeconds | default 3600) }}
{{- end }}
{{- include "collector.tidy" $value }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

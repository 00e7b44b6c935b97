{{/* The only labels that selectors use: they never change, and no other release in the namespace has them. */}}
{{- define "collector.selector" -}}
kube8.dev/collector: {{ .Release.Name | quote }}
{{- end }}

{{/* Labels of pods. Each object has them, so they are kept as the ports are. */}}
{{- define "collector.podLabels" -}}
{{- if not (hasKey .Release "podLabels") }}{{ $_ := set .Release "podLabels" (include "collector.ownPodLabels" .) }}{{ end }}
{{- .Release.podLabels }}
{{- end }}

{{- define "collector.ownPodLabels" -}}
{{ include "collector.selector" . }}
kube8.dev/tenant-id: {{ .Values.tenant.id | quote }}
kube8.dev/tenant-reference: {{ .Values.tenant.reference | quote }}
{{- with .Values.tenant.instance }}
kube8.dev/tenant-instance: {{ . | quote }}
{{- end }}
kube8.dev/cluster: {{ .Values.cluster | quote }}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Values.collector.version | toString | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end }}

{{/* Labels of objects: those of pods, and the chart's version, which must not roll pods. */}}
{{- define "collector.labels" -}}
{{ include "collector.podLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{/* Name, namespace and labels of the objects that are named after the release. */}}
{{- define "collector.metadata" -}}
name: {{ .Release.Name | quote }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "collector.labels" . | nindent 2 }}
{{- end }}

{{- define "collector.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary .Release.Name "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* A version loses its "v" only where the OpenTelemetry releases are, whose tags have none. */}}
{{- define "collector.image" -}}
{{- $name := toString .Values.collector.name }}
{{- $version := toString .Values.collector.version }}
{{- $repository := .Values.image.repository }}
{{- if and (not $repository) (contains "/" $name) }}
{{- $repository = $name }}
{{- else if and (not $repository) .Values.image.registry }}
{{- $repository = printf "%s/%s" (trimSuffix "/" .Values.image.registry) $name }}
{{- else if not $repository }}
{{- $repository = printf "%s/%s" (index .Chart.Annotations "kube8.dev/collector-registry" | trimSuffix "/") $name }}
{{- $version = regexReplaceAll "^v([0-9])" $version "${1}" }}
{{- end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (.Values.image.tag | default $version) }}
{{- end }}
{{- end }}

{{/* What of given labels or annotations is the user's to set: keys of Helm and of the operator are left out. */}}
{{- define "collector.usersKeys" -}}
{{- $kept := dict }}
{{- range $key, $value := . }}
{{- if not (regexMatch "^(.+[.])?(helm[.]sh|kube8[.]dev)/" $key) }}{{ $_ := set $kept $key $value }}{{ end }}
{{- end }}
{{- with $kept }}{{ toYaml . }}{{ end }}
{{- end }}

{{/*
Has .Release.ports be the enabled ports, sorted by name: {"all": […], "inPod": […], "onService": […], "onHeadless": […]}, each a list of
{name, port, number, hostPort, target, protocol, appProtocol}. number is that in the pod; there is none where another port of the
pod is the target. A distribution of OpenTelemetry, whose name has no "/", has some by default.

Five templates ask for them, and they take a third of the time of a rendering. So they are kept in .Release, the one map that all
templates have and no user writes.
*/}}
{{- define "collector.ports" -}}
{{- if not (hasKey .Release "ports") }}{{ include "collector.sortedPorts" . }}{{ end }}
{{- end }}

{{- define "collector.sortedPorts" -}}
{{- $found := dict "all" list "inPod" list "onService" list "onHeadless" list }}
{{- $taken := dict }}
{{- $balanced := eq .Values.service.type "LoadBalancer" }}
{{- $ports := .Values.ports | default dict }}
{{- if not (contains "/" (toString .Values.collector.name)) }}
{{- $ports = mergeOverwrite (dict "otlp" (dict "port" 4317 "appProtocol" "grpc") "otlp-http" (dict "port" 4318 "appProtocol" "http")
  "metrics" (dict "port" 8888)) $ports }}
{{- end }}
{{- range $name, $port := $ports }}
{{- if and (kindIs "map" $port) (ne (toString $port.enabled) "false") }}
{{- if not $port.port }}
{{- fail (printf "ports.%s: port is missing; give it a number, or remove it with enabled: false" $name) }}
{{- end }}
{{- $target := $port.targetPort | default $port.port }}
{{- $named := kindIs "string" $target }}
{{- $item := dict "name" $name "port" (int $port.port) "number" (ternary 0 $target $named | int) "hostPort" (int $port.hostPort)
  "target" (ternary $target $name $named) "protocol" ($port.protocol | default "TCP") "appProtocol" $port.appProtocol }}
{{- $places := ternary (list "all") (list "all" "inPod") $named }}
{{- $service := toString $port.service }}
{{- if ne $service "false" }}{{ $places = append $places "onHeadless" }}{{ end }}
{{- if or (eq $service "true") (not (or (eq $service "false") (and $balanced (eq $name "metrics")))) }}
{{- $places = append $places "onService" }}
{{- end }}
{{- range $place, $number := dict "inPod" $item.number "onHeadless" $item.port "on the node" $item.hostPort }}
{{- $key := printf "%d/%s" $number $item.protocol }}
{{- if and $number (or (has $place $places) (eq $place "on the node")) }}
{{- with get $taken (print $place $key) }}
{{- fail (printf "ports.%s and ports.%s are both %s; change one of the numbers, or remove one with enabled: false" . $name $key) }}
{{- end }}
{{- $_ := set $taken (print $place $key) $name }}
{{- end }}
{{- end }}
{{- range $places }}{{ $_ := set $found . (append (get $found .) $item) }}{{ end }}
{{- end }}
{{- end }}
{{- $_ := set .Release "ports" $found }}
{{- end }}

{{/* The port of the metrics that the operator reads, in the pod; nothing without flow. */}}
{{- define "collector.flowPort" -}}
{{- if kindIs "map" (get .Values "flow") }}
{{- $port := .Values.flow.port | default 0 | int }}
{{- include "collector.ports" . }}
{{- range .Release.ports.all }}
{{- if and (eq .name "metrics") (not $port) }}{{ $port = int .number }}{{ end }}
{{- end }}
{{- if not $port }}
{{- fail "flow: the number of the port metrics is not known; set flow.port" }}
{{- end }}
{{- $port }}
{{- end }}
{{- end }}

{{/* Refuses what the Collector's schema refuses but a JSON schema cannot say, and what toYaml would leave out without a word. */}}
{{- define "collector.validate" -}}
{{- $v := .Values }}
{{- /* \x85 is the end of a line for YAML: it becomes a space, and toYaml leaves out all of a field with such a key. */}}
{{- $forbidden := `[\x{7f}-\x{9f}\x{fffe}\x{ffff}]` }}
{{- $given := set (omit $v "bases") "collector" (omit $v.collector "configuration" "configurationText" "files") }}
{{- $text := toJson $given }}
{{- /* Mostly none of their first bytes is there, which takes a hundredth of the time to see. */}}
{{- if and (or (contains "\x7f" $text) (contains "\xc2" $text) (contains "\xef\xbf" $text)) (regexMatch $forbidden $text) }}
{{- range $field, $value := $given }}
{{- if regexMatch $forbidden (toJson $value) }}
{{- fail (printf "%s: has a character that YAML forbids, such as DEL; remove it" $field) }}
{{- end }}
{{- end }}
{{- end }}
{{- /* JSON escapes them. What follows a separator that only YAML knows leaves a text of several lines, and becomes fields. */}}
{{- if or (contains `\u0000` $text) (contains `\u202` $text) (contains `\u003cno value` $text) }}
{{- range $pattern, $what := dict `u0000` "a NUL character, which no program takes" `u003cno value\\u003e` "the text <no value>, which Helm leaves out"
  `(n([^"\\]|\\.)*\\u202[89]|u202[89]([^"\\]|\\.)*\\n)` "U+2028 or U+2029 in a text of several lines, which YAML ends there" }}
{{- range $field, $value := $given }}
{{- if regexMatch (printf `(^|[^\\])(\\\\)*\\%s` $pattern) (toJson $value) }}
{{- fail (printf "%s: has %s; remove it" $field $what) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $given := without (list $v.collector.configuration $v.collector.configurationText $v.collector.configurationSecret) nil "" }}
{{- if gt (len $given) 1 }}
{{- fail "collector: set one of configuration, configurationText and configurationSecret" }}
{{- end }}
{{- if and $given (hasKey ($v.collector.files | default dict) $v.collector.fileName) }}
{{- fail "collector.files: has the name of the configuration's own file; rename it, or set fileName" }}
{{- end }}
{{- $keys := dict }}
{{- range $file := keys ($v.collector.files | default dict) | sortAlpha }}
{{- $key := replace "/" ".." $file }}
{{- with get $keys $key }}{{ fail (printf "collector.files: %s and %s are the same key of a Secret; rename one" . $file) }}{{ end }}
{{- $_ := set $keys $key $file }}
{{- end }}
{{- range $base := $v.bases }}
{{- range prepend (keys ($v.collector.files | default dict)) $v.collector.fileName }}
{{- if or (hasPrefix (print $base.file "/") (print . "/")) (eq $base.file (replace "/" ".." .)) }}
{{- fail (printf "collector.files: %s is the file of the base %s; rename yours" $base.file $base.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $v.extraVolumeMounts }}
{{- if regexMatch "^/etc/collector(/|$)" (clean .mountPath) }}
{{- fail "extraVolumeMounts: /etc/collector is for the configuration; add a file there by collector.files, or mount elsewhere" }}
{{- end }}
{{- end }}
{{- if and (eq $v.mode "daemonset") (or $v.autoscaling.enabled $v.autoscaling.external) }}
{{- fail "autoscaling: not with mode daemonset, which runs one pod on each node; disable it or choose another mode" }}
{{- end }}
{{- if and (eq $v.mode "daemonset") $v.podDisruptionBudget.enabled }}
{{- fail "podDisruptionBudget: not with mode daemonset, whose pods a drain does not evict; disable it" }}
{{- end }}
{{- if and $v.autoscaling.enabled (not $v.autoscaling.maxReplicas) }}
{{- fail "autoscaling: maxReplicas is required when enabled" }}
{{- end }}
{{- if and $v.volumeClaimTemplates (ne $v.mode "statefulset") }}
{{- fail "volumeClaimTemplates: only with mode statefulset" }}
{{- end }}
{{- $keys := list }}
{{- range $v.topologySpreadConstraints }}
{{- $key := printf "topologyKey %s and whenUnsatisfiable %s" .topologyKey .whenUnsatisfiable }}
{{- if has $key $keys }}
{{- fail (printf "topologySpreadConstraints: two have the %s; remove one" $key) }}
{{- end }}
{{- $keys = append $keys $key }}
{{- end }}
{{- include "collector.validateContainers" . }}
{{- $_ := include "collector.flowPort" . }}
{{- $labels := dict }}
{{- range list "serviceMonitor" "podMonitor" "prometheusRule" }}{{ $_ := set $labels . (get $v .).labels }}{{ end }}
{{- range $v.volumeClaimTemplates }}{{ $_ := set $labels (printf "volumeClaimTemplates[%s].metadata" .metadata.name) .metadata.labels }}{{ end }}
{{- range $field, $values := $labels }}
{{- range $key, $value := $values }}
{{- if not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" $value) }}
{{- fail (printf "%s.labels: the value of %s has at most 63 letters, digits, '-', '_' and '.', and starts and ends with a letter or digit" $field $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $route := list "httpRoute" "grpcRoute" }}
{{- $parents := dict }}
{{- range (get $v $route).parentRefs }}
{{- $parent := printf "%s %s/%s" (.kind | default "Gateway") (.namespace | default $.Release.Namespace) .name }}
{{- $_ := set $parents $parent (append (get $parents $parent | default list) (printf "%v %v" .sectionName .port)) }}
{{- end }}
{{- range $parent, $sections := $parents }}
{{- if and (rest $sections) (or (has "<nil> <nil>" $sections) (ne (len $sections) (len (uniq $sections)))) }}
{{- fail (printf "%s.parentRefs: two are for %s; give each another sectionName or port, or remove one" $route $parent) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $v.updateStrategy.rollingUpdate (ne ($v.updateStrategy.type | default "RollingUpdate") "RollingUpdate") }}
{{- fail (printf "updateStrategy.rollingUpdate: not with type %s, which ignores it; remove one of the two" $v.updateStrategy.type) }}
{{- end }}
{{- $own := ternary (list "config" "varlogpods" "hostfs") (list "config" "varlogpods") $v.presets.hostMetrics.enabled }}
{{- $taken := list }}
{{- range $list := list "extraVolumes" "volumeClaimTemplates" "volumeClaims" }}
{{- range get $v $list }}
{{- $name := .name | default (get (.metadata | default dict) "name") | default "" }}
{{- if has $name $own }}
{{- fail (printf "%s: the name %s is the operator's own; choose another" $list $name) }}
{{- end }}
{{- if has $name $taken }}
{{- fail (printf "%s: two volumes have the name %s; rename one" $list $name) }}
{{- end }}
{{- $taken = append $taken $name }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses what the API server accepts of a container, and what can never work. */}}
{{- define "collector.validateContainers" -}}
{{- $v := .Values }}
{{- $own := list }}
{{- include "collector.ports" . }}
{{- range .Release.ports.inPod }}{{ $own = append $own .name }}{{ end }}
{{- $all := $own }}
{{- $containers := list (dict "field" "" "mounts" "extraVolumeMounts" "ports" $own "is" $v) }}
{{- range $list := list "initContainers" "extraContainers" }}
{{- range get $v $list | default list }}
{{- $names := list }}
{{- range .ports }}{{ with .name }}{{ $names = append $names . }}{{ end }}{{ end }}
{{- $all = concat $all $names }}
{{- $containers = append $containers (dict "field" (printf "%s[%s]." $list .name) "mounts" "volumeMounts" "ports" $names "is" .) }}
{{- end }}
{{- end }}
{{- range $name, $port := $v.ports }}
{{- if and (kindIs "string" $port.targetPort) (ne (toString $port.enabled) "false") (not (has $port.targetPort $all)) }}
{{- fail (printf "ports.%s.targetPort: no container has a port %q; name another one, or give its number" $name $port.targetPort) }}
{{- end }}
{{- end }}
{{- range $container := $containers }}
{{- if and .is.command (not (first .is.command)) }}
{{- fail (printf "%scommand: its first word is empty; name a program" .field) }}
{{- end }}
{{- $isWindows := eq (($v.os | default dict).name | default "") "windows" }}
{{- if and .is.workingDir (not $isWindows) (not (hasPrefix "/" .is.workingDir)) }}
{{- fail (printf "%sworkingDir: %q must begin with /" .field .is.workingDir) }}
{{- end }}
{{- $runs := dict }}
{{- range $context := list ($v.podSecurityContext | default dict) (.is.securityContext | default dict) }}
{{- range $field := list "runAsUser" "runAsNonRoot" }}{{ if hasKey $context $field }}{{ $_ := set $runs $field (get $context $field | toString) }}{{ end }}{{ end }}
{{- end }}
{{- if and (eq (get $runs "runAsUser") "0") (eq (get $runs "runAsNonRoot") "true") }}
{{- fail (printf "%ssecurityContext: runAsUser is 0, which runAsNonRoot forbids; set runAsNonRoot to false, or another runAsUser" .field) }}
{{- end }}
{{- $started := get (.is.lifecycle | default dict) "postStart" | default dict }}
{{- if $started.tcpSocket }}
{{- fail (printf "%slifecycle.postStart.tcpSocket: a kubelet runs no such handler, and stops the container; use exec, httpGet or sleep" .field) }}
{{- end }}
{{- range get .is .mounts | default list }}
{{- if not (regexMatch "^(/|[A-Za-z]:)" .mountPath) }}
{{- fail (printf "%s%s: the mountPath %q must begin with /" $container.field $container.mounts .mountPath) }}
{{- end }}
{{- end }}
{{- range $probe := list "livenessProbe" "readinessProbe" "startupProbe" "lifecycle.postStart" }}
{{- range $handler := list "httpGet" "tcpSocket" }}
{{- $port := get (get (ternary $started (get $container.is $probe | default dict) (hasPrefix "lifecycle." $probe)) $handler | default dict) "port" }}
{{- if and $port (kindIs "string" $port) (not (has $port $container.ports)) }}
{{- fail (printf "%s%s.%s.port: the container has no port %q; name another one, or give its number" $container.field $probe $handler $port) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

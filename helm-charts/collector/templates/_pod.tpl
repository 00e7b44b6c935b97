{{/* What the specs of the three workloads have in common. */}}
{{- define "collector.workload" -}}
{{- include "collector.validate" . }}
{{- $probes := include "collector.probes" . | fromJson -}}
revisionHistoryLimit: 3
{{- if not (hasKey $probes "readinessProbe") }}
{{- /* A collector that refuses its configuration looks ready until it exits; a rollout must not believe it. */}}
minReadySeconds: 10
{{- else if hasKey .Values "canary" }}
{{- /* What a canary had set must end, also if another client has made it its own. */}}
minReadySeconds: 0
{{- end }}
selector:
  matchLabels:
    {{- include "collector.selector" . | nindent 4 }}
template:
  metadata:
    {{- $annotations := include "collector.usersKeys" .Values.podAnnotations }}
    {{- if or $annotations (hasKey .Values "canary") }}
    annotations:
      {{- with $annotations }}{{ . | nindent 6 }}{{ end }}
      {{- if hasKey .Values "canary" }}
      {{- /* The post-renderer writes the hash of the template. */}}
      kube8.dev/template: ""
      {{- end }}
    {{- end }}
    labels:
      {{- $labels := include "collector.podLabels" . }}
      {{- with include "collector.usersKeys" .Values.podLabels }}
      {{- $labels = merge ($labels | fromYaml) (fromYaml .) | toYaml }}
      {{- end }}
      {{- $labels | nindent 6 }}
  spec:
    {{- include "collector.podSpec" (dict "root" . "probes" $probes) | nindent 4 }}
{{- end }}

{{/* The spec of the pods and, given check, that of a pod that checks what they would run and serves nobody. */}}
{{- define "collector.podSpec" -}}
{{- $v := .root.Values -}}
{{- $checks := hasKey . "check" -}}
{{- $check := .check | default dict -}}
serviceAccountName: {{ include "collector.serviceAccountName" .root | quote }}
{{- $presets := $v.presets }}
automountServiceAccountToken: {{ or $v.serviceAccount.automount $presets.kubeletMetrics.enabled $presets.kubernetesAttributes.enabled
  $presets.clusterMetrics.enabled }}
enableServiceLinks: false
{{- with $v.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* A process of a Windows node has its network, that of a check too. */}}
{{- $isProcess := contains `"hostProcess":true` (toJson (list $v.podSecurityContext $v.securityContext)) }}
{{- $onNode := and $v.hostNetwork (or $isProcess (not $checks)) }}
{{- if $onNode }}
hostNetwork: true
{{- end }}
{{- if not $checks }}
{{- range list "hostPID" "shareProcessNamespace" }}
{{- if get $v . }}
{{ . }}: true
{{- end }}
{{- end }}
{{- end }}
{{- with $v.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" $onNode) }}
dnsPolicy: {{ . }}
{{- end }}
{{- range $field := list "priorityClassName" "runtimeClassName" "schedulerName" }}
{{- with get $v $field }}
{{ $field }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- range $field := list "dnsConfig" "hostAliases" "os" }}
{{- with get $v $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- if $checks }}
{{- /* The collector has said yes or no by then: only sidecars are still to end. */}}
terminationGracePeriodSeconds: 2
{{- else if hasKey $v "terminationGracePeriodSeconds" }}
terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds | int64 }}
{{- end }}
{{- $windows := eq (get ($v.os | default dict) "name" | toString) "windows" }}
{{- with ternary (omit ($v.podSecurityContext | default dict) "seccompProfile") $v.podSecurityContext $windows }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with merge dict $v.nodeSelector (ternary (dict "kubernetes.io/os" "windows") dict $windows) }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* The pods of the last revision stay until the check is over: beside them or away from them, its pod may fit no node. */}}
{{- with ternary (pick ($v.affinity | default dict) "nodeAffinity") $v.affinity $checks }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and $v.topologySpreadConstraints (not $checks) }}
topologySpreadConstraints:
  {{- $selector := dict "matchLabels" (include "collector.selector" .root | fromYaml) }}
  {{- range $v.topologySpreadConstraints }}
  - {{ ternary . (set (deepCopy .) "labelSelector" $selector) (hasKey . "labelSelector") | toYaml | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- $initContainers := $v.initContainers }}
{{- if $checks }}{{ $initContainers = (include "collector.checkInitContainers" .root | fromJson).all }}{{ end }}
{{- with $initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: collector
    image: {{ include "collector.image" .root | quote }}
    {{- $moving := and (eq ($v.image.tag | default (toString $v.collector.version)) "latest") (not $v.image.digest) }}
    imagePullPolicy: {{ $v.image.pullPolicy | default (ternary "Always" "IfNotPresent" $moving) }}
    {{- with $v.command }}
    command:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- /* internal/configuration has the arguments name the files of bases. */}}
    {{- $hasOwn := or $v.collector.configuration $v.collector.configurationText $v.collector.configurationSecret }}
    {{- $args := ternary (list (print "--config=/etc/collector/" $v.collector.fileName)) list (not (empty $hasOwn)) }}
    {{- $args = ternary $v.args $args (hasKey $v "args") }}
    {{- if $check.args }}
    {{- $args = $check.args }}
    {{- else if $checks }}
    {{- $args = prepend $args "validate" }}
    {{- end }}
    {{- with $args }}
    args:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $v.workingDir }}
    workingDir: {{ . | quote }}
    {{- end }}
    env:
      {{- include "collector.env" .root | trimPrefix "\n" | nindent 6 }}
    {{- with $v.envFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- include "collector.ports" .root }}
    {{- $ports := .root.Release.ports.inPod }}
    {{- if and $ports (not $checks) }}
    ports:
      {{- range $ports }}
      - name: {{ .name | quote }}
        containerPort: {{ .number }}
        {{- with ternary .number .hostPort $v.hostNetwork }}
        hostPort: {{ . }}
        {{- end }}
        protocol: {{ .protocol }}
      {{- end }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- $grace := ternary $v.terminationGracePeriodSeconds 30 (hasKey $v "terminationGracePeriodSeconds") | int64 }}
    {{- /* Nodes send a Service's connections to a pod for a moment after it was told to end. */}}
    {{- $lifecycle := ternary (dict "preStop" (dict "sleep" (dict "seconds" 5))) dict (gt $grace 5) }}
    {{- with ternary dict (ternary $v.lifecycle $lifecycle (hasKey $v "lifecycle")) $checks }}
    lifecycle:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $check.resources | default (include "collector.resources" .root | fromJson) }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with ternary (omit ($v.securityContext | default dict) "allowPrivilegeEscalation" "capabilities" "readOnlyRootFilesystem")
      $v.securityContext $windows }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- $paths := list }}
    {{- range $v.extraVolumeMounts }}{{ $paths = append $paths (trimSuffix "/" .mountPath) }}{{ end }}
    {{- $files := include "collector.files" .root }}
    volumeMounts:
      {{- if $files }}
      - name: config
        mountPath: /etc/collector
        readOnly: true
      {{- end }}
      {{- if not (has "/tmp" $paths) }}
      - name: tmp
        mountPath: /tmp
      {{- end }}
      {{- if $v.presets.logs.enabled }}
      - name: varlogpods
        mountPath: /var/log/pods
        readOnly: true
      {{- end }}
      {{- if $presets.hostMetrics.enabled }}
      - name: hostfs
        mountPath: /hostfs
        readOnly: true
        mountPropagation: HostToContainer
      {{- end }}
      {{- with $v.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  {{- if and $v.extraContainers (not $checks) }}
  {{- toYaml $v.extraContainers | nindent 2 }}
  {{- end }}
volumes:
  {{- with $files }}
  - name: config
    {{- . | trim | nindent 4 }}
  {{- end }}
  {{- $names := list }}
  {{- range $v.extraVolumes }}{{ $names = append $names .name }}{{ end }}
  {{- range concat $v.volumeClaimTemplates $v.volumeClaims }}{{ $names = append $names .metadata.name }}{{ end }}
  {{- if not (or (has "tmp" $names) (has "/tmp" $paths)) }}
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
  {{- end }}
  {{- if $v.presets.logs.enabled }}
  - name: varlogpods
    hostPath:
      path: /var/log/pods
      type: ""
  {{- end }}
  {{- if not $checks }}
  {{- range $v.volumeClaims }}
  - name: {{ .metadata.name | quote }}
    persistentVolumeClaim:
      claimName: {{ printf "%s-%s" $.root.Release.Name .metadata.name | quote }}
  {{- end }}
  {{- end }}
  {{- if $presets.hostMetrics.enabled }}
  - name: hostfs
    hostPath:
      path: /
      type: ""
  {{- end }}
  {{- $extraVolumes := $v.extraVolumes }}
  {{- if $checks }}{{ $extraVolumes = (include "collector.checkVolumes" .root | fromJson).all }}{{ end }}
  {{- with $extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $checks }}
  {{- range concat $v.volumeClaimTemplates $v.volumeClaims }}
  - name: {{ .metadata.name | quote }}
    emptyDir: {}
  {{- end }}
  {{- end }}
{{- end }}

{{/*
The init containers of a check, as JSON: its claims are no devices, its grace period is too short for a preStop hook, and pods of the last
revision have the ports of the node.
*/}}
{{- define "collector.checkInitContainers" -}}
{{- $all := list }}
{{- range .Values.initContainers }}
{{- $container := omit . "volumeDevices" }}
{{- if hasKey . "lifecycle" }}{{ $container = set $container "lifecycle" (omit .lifecycle "preStop") }}{{ end }}
{{- $ports := list }}
{{- range .ports }}{{ $ports = append $ports (omit . "hostPort" "hostIP") }}{{ end }}
{{- with $ports }}{{ $container = set $container "ports" . }}{{ end }}
{{- $all = append $all $container }}
{{- end }}
{{- dict "all" $all | toJson }}
{{- end }}

{{/*
The extra volumes of a check, as JSON. One that is not the pod's own, and that a container could write to, is an empty folder: the change may
never be accepted, and pods of the last revision use the volume.
*/}}
{{- define "collector.checkVolumes" -}}
{{- $mounts := .Values.extraVolumeMounts | default list }}
{{- range .Values.initContainers }}{{ $mounts = concat $mounts (.volumeMounts | default list) }}{{ end }}
{{- $written := list }}
{{- range $mounts }}{{ if not .readOnly }}{{ $written = append $written .name }}{{ end }}{{ end }}
{{- $all := list }}
{{- range $volume := .Values.extraVolumes }}
{{- $kind := omit $volume "name" | keys | first | default "emptyDir" }}
{{- $source := get $volume $kind | default dict }}
{{- $own := has $kind (list "emptyDir" "secret" "configMap" "projected" "downwardAPI" "image") }}
{{- $creates := hasSuffix "OrCreate" (toString $source.type) }}
{{- $isWritten := and (has $volume.name $written) (not $source.readOnly) }}
{{- $empty := dict "name" $volume.name "emptyDir" dict }}
{{- $all = append $all (ternary $volume $empty (or $own (not (or $isWritten $creates)))) }}
{{- end }}
{{- dict "all" $all | toJson }}
{{- end }}

{{/* A given variable replaces the chart's own of the same name. */}}
{{- define "collector.env" -}}
{{- $tenant := .Values.tenant }}
{{- $attributes := list (print "tenant.id=" $tenant.id) (print "tenant.reference=" $tenant.reference) }}
{{- $own := list (dict "name" "TENANT_ID" "value" $tenant.id) }}
{{- $own = append $own (dict "name" "TENANT_REFERENCE" "value" $tenant.reference) }}
{{- with $tenant.instance }}
{{- $attributes = append $attributes (print "tenant.instance=" .) }}
{{- $own = append $own (dict "name" "TENANT_INSTANCE" "value" .) }}
{{- end }}
{{- $attributes = append $attributes (print "k8s.cluster.name=" .Values.cluster) }}
{{- $own = append $own (dict "name" "CLUSTER_NAME" "value" .Values.cluster) }}
{{- $own = append $own (dict "name" "OTEL_RESOURCE_ATTRIBUTES" "value" (join "," $attributes)) }}
{{- if .Values.presets.hostMetrics.enabled }}
{{- range $name := list "PROC" "SYS" "ETC" "VAR" "RUN" "DEV" }}
{{- $own = append $own (dict "name" (print "HOST_" $name) "value" (print "/hostfs/" (lower $name))) }}
{{- end }}
{{- $own = append $own (dict "name" "HOST_MOUNT_PREFIX" "value" "/hostfs") }}
{{- end }}
{{- $fields := dict "K8S_NODE_NAME" "spec.nodeName" "K8S_POD_NAME" "metadata.name" }}
{{- if .Values.presets.kubeletMetrics.enabled }}{{ $_ := set $fields "K8S_NODE_IP" "status.hostIP" }}{{ end }}
{{- range $name, $path := $fields }}
{{- $own = append $own (dict "name" $name "field" $path) }}
{{- end }}
{{- $limits := get (include "collector.resources" . | fromJson) "limits" | default dict }}
{{- with include "collector.goMemLimit" (get $limits "memory" | toString) }}
{{- $own = append $own (dict "name" "GOMEMLIMIT" "value" .) }}
{{- end }}
{{- $names := list }}
{{- range .Values.env }}{{ $names = append $names .name }}{{ end }}
{{- range $own }}
{{- if not (has .name $names) }}
- name: {{ .name }}
  {{- if .field }}
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: {{ .field }}
  {{- else }}
  value: {{ .value | quote }}
  {{- end }}
{{- end }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Given resources replace the default as a whole: a limit below the default request would be refused. */}}
{{- define "collector.resources" -}}
{{- $default := dict "limits" (dict "memory" "512Mi") "requests" (dict "cpu" "100m" "memory" "128Mi") }}
{{- ternary .Values.resources $default (hasKey .Values "resources") | toJson }}
{{- end }}

{{/* 80% of a quantity of memory, in bytes; nothing for what is none. */}}
{{- define "collector.goMemLimit" -}}
{{- $number := regexFind "^[0-9.]+([eE][+-]?[0-9]+)?" (toString .) }}
{{- $factors := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576
  "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 }}
{{- $factor := get $factors (trimPrefix $number (toString .)) }}
{{- $bytes := 0 }}
{{- if and $number $factor }}{{ $bytes = mulf (float64 $number) $factor 0.8 | floor | int64 }}{{ end }}
{{- if gt $bytes 0 }}{{ $bytes }}{{ end }}
{{- end }}

{{/* What the specs of the three workloads have in common. */}}
{{- define "collector.workload" -}}
{{- include "collector.validate" . }}
{{- $probes := include "collector.probes" . | fromJson -}}
revisionHistoryLimit: 3
{{- if not (hasKey $probes "readinessProbe") }}
{{- /* A collector that refuses its configuration looks ready until it exits; a rollout must not believe it. */}}
minReadySeconds: 10
{{- end }}
selector:
  matchLabels:
    {{- include "collector.selector" . | nindent 4 }}
template:
  metadata:
    {{- with .Values.podAnnotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    labels:
      {{- $labels := include "collector.podLabels" . | fromYaml }}
      {{- range $key, $value := .Values.podLabels }}
      {{- if not (or (hasPrefix "kube8.dev/" $key) (hasKey $labels $key)) }}{{ $_ := set $labels $key $value }}{{ end }}
      {{- end }}
      {{- toYaml $labels | nindent 6 }}
  spec:
    {{- include "collector.podSpec" (dict "root" . "probes" $probes) | nindent 4 }}
{{- end }}

{{- define "collector.podSpec" -}}
{{- $v := .root.Values }}
{{- $security := deepCopy (dict "pod" $v.podSecurityContext "container" $v.securityContext) }}
{{- $given := deepCopy (dict "volumes" $v.extraVolumes "mounts" $v.extraVolumeMounts "tolerations" $v.tolerations) }}
{{- include "collector.tidy" $security }}
{{- include "collector.tidy" $given }}
{{- $volumes := $given.volumes | default list }}
{{- $mounts := $given.mounts | default list -}}
serviceAccountName: {{ include "collector.serviceAccountName" .root | quote }}
automountServiceAccountToken: {{ $v.serviceAccount.automount }}
enableServiceLinks: false
{{- with $v.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $v.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- if hasKey $v "terminationGracePeriodSeconds" }}
terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds | int64 }}
{{- end }}
{{- with $security.pod }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $given.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $v.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- $selector := dict "matchLabels" (include "collector.selector" .root | fromYaml) }}
  {{- range $v.topologySpreadConstraints }}
  - {{ ternary . (set (deepCopy .) "labelSelector" $selector) (hasKey . "labelSelector") | toYaml | nindent 4 | trim }}
  {{- end }}
{{- end }}
containers:
  - name: collector
    image: {{ include "collector.image" .root | quote }}
    {{- $moving := and (eq ($v.image.tag | default (toString $v.collector.version)) "latest") (not $v.image.digest) }}
    imagePullPolicy: {{ $v.image.pullPolicy | default (ternary "Always" "IfNotPresent" $moving) }}
    {{- with $v.args }}
    args:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    env:
      {{- include "collector.env" .root | nindent 6 }}
    {{- with $v.envFrom }}
    envFrom:
      {{- $from := deepCopy (dict "envFrom" .) }}
      {{- include "collector.tidy" $from }}
      {{- toYaml $from.envFrom | nindent 6 }}
    {{- end }}
    {{- with (include "collector.ports" .root | fromJson).ports }}
    ports:
      {{- range . }}
      - name: {{ .name | quote }}
        containerPort: {{ .port }}
        {{- if $v.hostNetwork }}
        hostPort: {{ .port }}
        {{- end }}
        protocol: {{ .protocol }}
      {{- end }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with include "collector.resources" .root | fromYaml }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $security.container }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - name: config
        mountPath: /etc/collector
        readOnly: true
      {{- $paths := list }}
      {{- range $mounts }}{{ $paths = append $paths (trimSuffix "/" .mountPath) }}{{ end }}
      {{- if not (has "/tmp" $paths) }}
      - name: tmp
        mountPath: /tmp
      {{- end }}
      {{- if $v.presets.logs.enabled }}
      - name: varlogpods
        mountPath: /var/log/pods
        readOnly: true
      {{- end }}
      {{- with $mounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: config
    secret:
      defaultMode: 420
      {{- with $v.collector.configurationSecret }}
      secretName: {{ .name | quote }}
      items:
        - key: {{ .key | quote }}
          path: config.yaml
      {{- else }}
      secretName: {{ printf "%s-config" .root.Release.Name | quote }}
      items:
        - key: config.yaml
          path: config.yaml
      {{- end }}
  {{- $names := list }}
  {{- range $volumes }}{{ $names = append $names .name }}{{ end }}
  {{- range $v.volumeClaimTemplates }}{{ $names = append $names .metadata.name }}{{ end }}
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
  {{- with $volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* A given variable replaces the chart's own of the same name. */}}
{{- define "collector.env" -}}
{{- $tenant := .Values.tenant }}
{{- $attributes := list (print "tenant.id=" $tenant.id) (print "tenant.reference=" $tenant.reference) }}
{{- $own := list (dict "name" "TENANT_ID" "value" (toString $tenant.id)) }}
{{- $own = append $own (dict "name" "TENANT_REFERENCE" "value" (toString $tenant.reference)) }}
{{- with $tenant.instance }}
{{- $attributes = append $attributes (print "tenant.instance=" .) }}
{{- $own = append $own (dict "name" "TENANT_INSTANCE" "value" (toString .)) }}
{{- end }}
{{- $attributes = append $attributes (print "k8s.cluster.name=" .Values.cluster) }}
{{- $own = append $own (dict "name" "CLUSTER_NAME" "value" (toString .Values.cluster)) }}
{{- $own = append $own (dict "name" "OTEL_RESOURCE_ATTRIBUTES" "value" (join "," $attributes)) }}
{{- range $name, $path := dict "K8S_NODE_NAME" "spec.nodeName" "K8S_POD_NAME" "metadata.name" }}
{{- $own = append $own (dict "name" $name "valueFrom" (dict "fieldRef" (dict "apiVersion" "v1" "fieldPath" $path))) }}
{{- end }}
{{- $limits := get (include "collector.resources" . | fromYaml) "limits" | default dict }}
{{- with include "collector.goMemLimit" (get $limits "memory" | toString) }}
{{- $own = append $own (dict "name" "GOMEMLIMIT" "value" .) }}
{{- end }}
{{- $given := deepCopy (dict "env" .Values.env) }}
{{- include "collector.tidy" $given }}
{{- $names := list }}
{{- range $given.env }}{{ $names = append $names .name }}{{ end }}
{{- $all := list }}
{{- range $own }}{{ if not (has .name $names) }}{{ $all = append $all . }}{{ end }}{{ end }}
{{- toYaml (concat $all ($given.env | default list)) }}
{{- end }}

{{- define "collector.resources" -}}
{{- $resources := dict "limits" (dict "memory" "512Mi") "requests" (dict "cpu" "100m" "memory" "128Mi") }}
{{- if kindIs "map" .Values.resources }}{{ $resources = deepCopy .Values.resources }}{{ end }}
{{- include "collector.tidy" $resources }}
{{- toYaml $resources }}
{{- end }}
